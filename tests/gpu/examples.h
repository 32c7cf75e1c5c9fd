// File: tests/gpu/examples.h
//
// Small calls with known answers, and faults, for tests of devices as a whole.

#ifndef OPSERVE_TESTS_GPU_EXAMPLES_H_
#define OPSERVE_TESTS_GPU_EXAMPLES_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/device/compute_device.h"
#include "tests/conformance/call_cases.h"

namespace opserve::testing {

inline constexpr int32_t kDeviceRemoved = static_cast<int32_t>(0x887A0005);
inline constexpr int32_t kOutOfMemory = static_cast<int32_t>(0x8007000E);
inline constexpr int32_t kInvalidArgument = static_cast<int32_t>(0x80070057);

// How long a device may take for a submission: so long that nothing in a test ends because of it,
// and for tests of what happens when it is over.
inline constexpr std::chrono::hours kNever{1000};
inline constexpr std::chrono::milliseconds kSoon{100};

inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

// Fails calls whose text contains a word, as long as it is armed; counts them in any case.
class FailingCall final : public d3d12::FaultInjector {
 public:
  FailingCall(std::string word, int32_t result) : word_(std::move(word)), result_(result) {}

  std::optional<int32_t> Fail(absl::string_view call) override;

  std::atomic<bool> armed = true;
  // Calls that failed, and calls that were let through.
  std::atomic<int> failures = 0;
  std::atomic<int> passes = 0;

 private:
  const std::string word_;
  const int32_t result_;
};

// A call, its inputs, and what it must answer.
struct Example {
  std::shared_ptr<const Invocation> call;
  std::vector<GuardedInput> inputs;
  std::vector<std::byte> expected;
};

// Any call with random inputs.
Example MakeExample(std::shared_ptr<const Invocation> call, std::mt19937_64& random);

// ELEMENT_WISE_ROUND of `count` FLOAT16 elements, packed or with strides.
Example MakeExample(uint32_t count, uint64_t seed);
Example MakeStridedExample(uint32_t count, uint64_t seed);

// Runs the examples as one batch; a wrong answer, or a byte written beside one, is a failure of the
// test.
absl::Status RunBatch(ComputeDevice& device, const std::vector<Example>& examples);

// The same for one.
absl::Status RunExample(ComputeDevice& device, const Example& example);

// How many of the device's calls that `word` names, as FailingCall knows them, there are while
// `run` runs. That it fails is a failure of the test.
int PassesOf(std::string word, absl::FunctionRef<absl::Status()> run);

// `made`, once it has run something; nullptr, and a failure of the test, where it is an error or
// cannot.
std::unique_ptr<d3d12::D3D12Device> WarmedUp(
    absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> made);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_EXAMPLES_H_
