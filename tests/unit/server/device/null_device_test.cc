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

class NullDeviceTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kCount = 5000;
  static constexpr uint64_t kBytes = kCount * sizeof(float);

  // A call of an operator that has one type, to write to output_.
  DeviceCall CallOf(OpId op) {
    std::mt19937_64 random(1);
    sample_ = SampleCall::Make({.op = op, .lane = DataType::kFloat32, .count = kCount}, random);
    EXPECT_TRUE(sample_.ok()) << sample_.status();
    output_.assign(kBytes, std::byte{0});
    return sample_->CallInto(output_.data());
  }
  void Run(const DeviceCall& call) { ASSERT_TRUE(device_.Run({&call, 1}).ok()); }

  absl::StatusOr<SampleCall> sample_;
  std::vector<std::byte> output_;
  NullDevice device_{NullProfile("null", /*is_software=*/true), std::make_shared<NullScript>()};
};

TEST_F(NullDeviceTest, ARunReadsWhatTheDeviceLosesMeanwhile) {
  DeviceCall call = CallOf(OpId::ELEMENT_WISE_ADD);
  FetchedInput second(call.inputs[1].data(),
                      [this] { device_.Release(kFirst, /*is_of_use=*/false); });
  call.inputs[0] = {call.inputs[0].data(), kFirst};
  Run(call);
  const std::vector<std::byte> expected = output_;
  call.inputs[1] = TensorBytes(second);
  std::fill(output_.begin(), output_.end(), std::byte{0});
  Run(call);
  EXPECT_EQ(output_, expected);
  EXPECT_EQ(device_.transfers().kept_inputs, 1u);
  EXPECT_EQ(device_.transfers().kept_bytes, kBytes);
}

TEST_F(NullDeviceTest, WhatTwoRunsUploadIsKeptOnce) {
  DeviceCall outer = CallOf(OpId::ELEMENT_WISE_ABS);
  DeviceCall inner = outer;
  inner.inputs[0] = {outer.inputs[0].data(), kSecond};
  FetchedInput input(outer.inputs[0].data(), [this, &inner] { Run(inner); });
  outer.inputs[0] = TensorBytes(input);
  Run(outer);
  EXPECT_EQ(output_, sample_->Expected());
  EXPECT_EQ(device_.transfers().uploaded_bytes, 2 * kBytes);
  EXPECT_EQ(device_.transfers().kept_bytes, kBytes);
}

}  // namespace
}  // namespace opserve::testing
