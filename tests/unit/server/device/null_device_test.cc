// The scripted device: what runs that overlap may rely on.

#include "tests/testing/null_device.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/pool/verify/sample_call.h"

namespace opserve::testing {
namespace {

constexpr ContentId kFirst = 1;
constexpr ContentId kSecond = 2;

// An input that is fetched in the middle of a run, where something else happens.
class FetchedInput final : public UnreadBytes {
 public:
  FetchedInput(const std::byte* data, std::function<void()> on_fetch)
      : data_(data), on_fetch_(std::move(on_fetch)) {}

  ContentId content() const override { return kSecond; }
  TensorBytes Fetch() override {
    on_fetch_();
    return {data_, kSecond};
  }

 private:
  const std::byte* const data_;
  const std::function<void()> on_fetch_;
};

TEST(NullDeviceTest, ARunReadsWhatTheDeviceLosesMeanwhile) {
  std::mt19937_64 random(1);
  const auto sample = SampleCall::Make(
      {.op = OpId::ELEMENT_WISE_ADD, .lane = DataType::kFloat32, .count = 5000}, random);
  ASSERT_TRUE(sample.ok());
  std::vector<std::byte> output(sample->Expected().size());
  NullDevice device(NullProfile("null", /*is_software=*/true), std::make_shared<NullScript>());

  DeviceCall call = sample->CallInto(output.data());
  const std::byte* const first = call.inputs[0].data();
  const std::byte* const second = call.inputs[1].data();
  call.inputs[0] = {first, kFirst};
  ASSERT_TRUE(device.Run({&call, 1}).ok());
  FetchedInput input(second, [&device] { device.Release(kFirst, /*is_of_use=*/false); });
  call.inputs[1] = TensorBytes(input);
  const std::vector<std::byte> expected = output;
  std::fill(output.begin(), output.end(), std::byte{0});
  ASSERT_TRUE(device.Run({&call, 1}).ok());
  EXPECT_EQ(output, expected);
  EXPECT_EQ(device.transfers().kept_inputs, 1u);
  EXPECT_EQ(device.transfers().kept_bytes, 5000 * sizeof(float));
}

TEST(NullDeviceTest, WhatTwoRunsUploadIsKeptOnce) {
  std::mt19937_64 random(1);
  const auto sample = SampleCall::Make(
      {.op = OpId::ELEMENT_WISE_ABS, .lane = DataType::kFloat32, .count = 5000}, random);
  ASSERT_TRUE(sample.ok());
  std::vector<std::byte> output(sample->Expected().size());
  NullDevice device(NullProfile("null", /*is_software=*/true), std::make_shared<NullScript>());

  const DeviceCall uploading = sample->CallInto(output.data());
  DeviceCall inner = uploading;
  inner.inputs[0] = {uploading.inputs[0].data(), kSecond};
  FetchedInput input(uploading.inputs[0].data(), [&] {
    ASSERT_TRUE(device.Run({&inner, 1}).ok());
  });
  DeviceCall outer = uploading;
  outer.inputs[0] = TensorBytes(input);
  ASSERT_TRUE(device.Run({&outer, 1}).ok());
  EXPECT_EQ(output, sample->Expected());
  EXPECT_EQ(device.transfers().uploaded_bytes, 2 * 5000 * sizeof(float));
  EXPECT_EQ(device.transfers().kept_bytes, 5000 * sizeof(float));
}

}  // namespace
}  // namespace opserve::testing
