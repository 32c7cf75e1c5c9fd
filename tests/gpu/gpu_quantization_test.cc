// Quantisation on a Direct3D 12 device, in every combination of types, with and without zero
// points: kernels are told the types, and read elements as these say.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/quantization_cases.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

class GpuQuantizationTest : public GpuTest {
 protected:
  void Check(const Invocation& call, const std::string& what) {
    const QuantizationInputs inputs(call, random_);
    SentinelOutput output(call.output_bytes, /*misalignment=*/1);
    const absl::Status status = RunOne(device(), call, inputs.pointers(), output.data());
    ASSERT_TRUE(status.ok()) << what << ": " << status;
    const std::vector<std::byte> expected = ReferenceOutput(call, inputs.pointers());
    EXPECT_EQ(Difference(call, expected.data(), output.data()), "") << what;
    EXPECT_TRUE(output.intact()) << what;
  }

  std::mt19937_64 random_{20261128};
};

TEST_F(GpuQuantizationTest, AllTypesEqualTheReference) {
  for (const auto& [op, types] : AllQuantizedTypes()) {
    for (const std::vector<uint32_t>& sizes : {std::vector<uint32_t>{1501}, {3, 70}, {1}}) {
      for (const bool is_per_tensor : {false, true}) {
        const auto call = QuantizationCall(op, types, sizes, is_per_tensor);
        ASSERT_NE(call, nullptr);
        Check(*call, absl::StrCat(TraitsOf(op).name, ", ", types.ToString(), ", ", sizes.size(),
                                  " dimensions", is_per_tensor ? ", per tensor" : ""));
      }
    }
  }
}

// Calls that differ only in a type that the kernel is told cannot share a dispatch.
TEST_F(GpuQuantizationTest, CallsOfOtherTypesAreNoBatch) {
  using enum DataType;
  const std::vector<uint32_t> sizes = {4};
  const auto bytes = QuantizationCall(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR,
                                      {{kInt8, kFloat32, kInt8}, kFloat32}, sizes);
  const auto words = QuantizationCall(OpId::ELEMENT_WISE_DEQUANTIZE_LINEAR,
                                      {{kInt32, kFloat32, kInt32}, kFloat32}, sizes);
  ASSERT_NE(bytes, nullptr);
  ASSERT_NE(words, nullptr);
  const QuantizationInputs of_bytes(*bytes, random_);
  const QuantizationInputs of_words(*words, random_);
  std::vector<std::byte> first(bytes->output_bytes);
  std::vector<std::byte> second(words->output_bytes);
  const DeviceCall calls[] = {CallOf(*bytes, of_bytes.pointers(), first.data()),
                              CallOf(*words, of_words.pointers(), second.data())};
  EXPECT_TRUE(absl::IsInternal(device().Run(calls)));
  EXPECT_TRUE(device().Run(std::span(calls).first(1)).ok());
}

}  // namespace
}  // namespace opserve::testing
