// Powers on a Direct3D 12 device with exponents of every type: kernels are told the type, and read
// exponents as it says.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/op_rows.h"
#include "kernels/reference_ops.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/gpu_text.h"
#include "tests/conformance/special_values.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {
namespace {

using Tensor = std::pair<DataType, std::vector<uint64_t>>;

class GpuPowerTest : public GpuTest {
 protected:
  // A call with as many bases as exponents, every `stride`-th element of each tensor.
  static std::shared_ptr<const Invocation> Call(DataType base, DataType exponent, uint32_t count,
                                                uint32_t stride) {
    RequestBuilder builder("ELEMENT_WISE_POW");
    builder.Input({base, {count}, {stride}}).Input({exponent, {count}, {stride}});
    builder.Output({base, {count}, {stride}});
    return builder.Validate().invocation;
  }

  // What the device says of elements of the bits given.
  absl::Status Run(const Tensor& base, const Tensor& exponent, uint32_t stride) {
    const auto call =
        Call(base.first, exponent.first, static_cast<uint32_t>(base.second.size()), stride);
    if (call == nullptr) return absl::InternalError("The call is refused.");
    std::vector<GuardedInput> inputs;
    for (const auto& [type, elements] : {base, exponent}) {
      GuardedInput& input = inputs.emplace_back(call->input_bytes[inputs.size()]);
      std::memset(input.data(), 0, input.size());
      for (size_t i = 0; i < elements.size(); ++i) {
        std::memcpy(input.data() + i * stride * SizeOf(type), &elements[i], SizeOf(type));
      }
    }
    const std::vector<const std::byte*> pointers = PointersTo(inputs);
    SentinelOutput output(call->output_bytes, 0);
    absl::Status status = RunOne(device(), *call, pointers, output.data());
    if (!status.ok()) return status;
    const std::vector<std::byte> expected = ReferenceOutput(*call, pointers);
    const std::string difference = Difference(*call, expected.data(), output.data());
    return difference.empty() && output.intact() ? absl::OkStatus()
                                                 : absl::DataLossError(difference);
  }
};

// Whether a power of an integer may be none that the exponent tells to be whole.
bool HasFraction(DataType type, uint64_t bits) {
  if (!IsFloat(type)) return false;
  const auto low = static_cast<uint32_t>(bits);
  const float value = type == DataType::kFloat32 ? std::bit_cast<float>(low)
                                                 : reference::ToFloat({static_cast<uint16_t>(low)});
  return std::isfinite(value) && std::trunc(value) != value;
}

// Every special value to the power of each other one, but those that are left open.
TEST_F(GpuPowerTest, AllPairsOfTypesEqualTheReference) {
  for (DataType base : kAllDataTypes) {
    for (DataType exponent : kAllDataTypes) {
      if (!op_rows::kNumeric8.contains(base) || !op_rows::kNumeric8.contains(exponent)) continue;
      Tensor x = {base, {}};
      Tensor e = {exponent, {}};
      size_t open = 0;
      for (const uint64_t left : SpecialValues(base)) {
        for (const uint64_t right : SpecialValues(exponent)) {
          const bool is_open = IsFloat(base) ? GpuPower(base, static_cast<uint32_t>(left), exponent,
                                                        static_cast<uint32_t>(right))
                                                   .is_open
                                             : HasFraction(exponent, right);
          open += is_open ? 1 : 0;
          if (is_open) continue;
          x.second.push_back(left);
          e.second.push_back(right);
        }
      }
      const std::string what = absl::StrCat(NameOf(base), " to ", NameOf(exponent));
      if (IsFloat(base)) {
        EXPECT_LT(open, x.second.size() / 100) << what;
      }
      for (const uint32_t stride : {1, 3}) {
        const absl::Status status = Run(x, e, stride);
        EXPECT_TRUE(status.ok()) << what << ", stride " << stride << ": " << status;
      }
    }
  }
}

// A root of an integer, truncated, is the processor's; of 0 and 1, and of what has none, it is not.
TEST_F(GpuPowerTest, RootsOfIntegersAreLeftOpen) {
  constexpr uint64_t kHalf = 0x3f000000;
  using enum DataType;
  EXPECT_TRUE(Run({kInt32, {0, 1, 0xfffffff8}}, {kFloat32, {kHalf, kHalf, kHalf}}, 1).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Run({kInt32, {0, 1, 9}}, {kFloat32, {kHalf, kHalf, kHalf}}, 1)));
}

}  // namespace
}  // namespace opserve::testing
