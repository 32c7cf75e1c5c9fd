// File: server/pool/verify/sample_call.h
//
// Calls that the pool makes up to test and to measure devices: any operator of the table, any type.

#ifndef OPSERVE_SERVER_POOL_VERIFY_SAMPLE_CALL_H_
#define OPSERVE_SERVER_POOL_VERIFY_SAMPLE_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/device/compute_device.h"
#include "server/pool/verify/sample_values.h"

namespace opserve {

enum class SampleLayout : uint8_t {
  kPacked,      // all tensors
  kPadded,      // all tensors, a few elements after each row
  kTransposed,  // the inputs; the output is packed
};

// "packed", "padded", "transposed".
absl::string_view NameOf(SampleLayout layout);

// Which call to make.
struct SampleSpec {
  OpId op = {};
  DataType lane = DataType::kUnknown;
  // kUnknown: what validation makes of a request that does not tell.
  DataType output = DataType::kUnknown;
  // That of the first input of a type of its own, one of NumberTypesOf(); kUnknown: what
  // OpTraits::InputType() tells.
  DataType number = DataType::kUnknown;
  // Of the attributes: kernels/attribute_settings.h.
  int setting = 0;
  SampleLayout layout = SampleLayout::kPacked;
  // Elements; layouts with rows round it up to full ones.
  uint32_t count = 1;
  SampleValues values = SampleValues::kHard;
};

// The types that the first input of `op` of a type of its own may have; empty without one.
DataTypeSet NumberTypesOf(const OpTraits& op);

// A validated call with its input bytes. Immutable and safe to use from any thread.
class SampleCall {
 public:
  // Fails where validation refuses the call, which the operator table rules out for lane types.
  static absl::StatusOr<SampleCall> Make(const SampleSpec& spec, std::mt19937_64& random);

  const Invocation& invocation() const { return *invocation_; }
  // Bytes of inputs and output.
  uint64_t bytes() const;
  // The call, to write its result to `output` of invocation().output_bytes bytes.
  DeviceCall CallInto(std::byte* output) const;
  // What the scalar reference computes.
  std::vector<std::byte> Expected() const;

 private:
  SampleCall() = default;

  std::shared_ptr<const Invocation> invocation_;
  std::vector<std::vector<std::byte>> inputs_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_SAMPLE_CALL_H_
