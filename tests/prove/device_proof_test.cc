// That a proof finds what a device computes wrongly, by devices that do; and a small one of the
// device of this machine.

#include "tests/prove/device_proof.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/device/cpu/cpu_device.h"
#include "tests/conformance/gpu_text.h"
#include "tests/gpu/test_device.h"

namespace opserve::testing {
namespace {

// One FLOAT32 of so many is five, of which the fourth is kOpenInput.
constexpr uint64_t kStrideToOpenInput = 715827883;
// The least denormal but its sign: what ELU makes of it with an Alpha of -1.5 is too near a middle.
constexpr uint32_t kOpenInput = 0x80000001;

// Computes as the processor does, and then spoils results, or fails.
class SpoiltDevice final : public ComputeDevice {
 public:
  using Spoil = std::function<absl::Status(const Invocation& call, uint32_t input, uint32_t& bits)>;

  explicit SpoiltDevice(Spoil spoil) : spoil_(std::move(spoil)) {}

  const DeviceProfile& profile() const override { return processor_.profile(); }
  bool Supports(OpId op, DataType lane) const override { return processor_.Supports(op, lane); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    absl::Status status = processor_.Run(calls);
    const Invocation& call = *calls[0].invocation;
    for (uint64_t at = 0; at < call.output_bytes && status.ok(); at += sizeof(uint32_t)) {
      uint32_t input;
      uint32_t bits;
      std::memcpy(&input, calls[0].inputs[0].data() + at, sizeof(input));
      std::memcpy(&bits, calls[0].output + at, sizeof(bits));
      status = spoil_(call, input, bits);
      std::memcpy(calls[0].output + at, &bits, sizeof(bits));
    }
    return status;
  }

 private:
  CpuDevice processor_{1};
  const Spoil spoil_;
};

Cell Float32Cell(const char* name) {
  return {FindOperator(name), DataType::kFloat32, DataType::kFloat32};
}

TEST(DeviceProofTest, EachInputIsComputedOnce) {
  constexpr uint64_t kStride = 255;
  std::atomic<uint64_t> sum = 0;
  SpoiltDevice device([&sum](const Invocation&, uint32_t input, uint32_t&) {
    sum += input;
    return absl::OkStatus();
  });
  const DeviceProof proof = ProveOnDevice(device, Float32Cell("ELEMENT_WISE_ABS"), 0, kStride);
  EXPECT_TRUE(proof.is_good());
  constexpr uint64_t kInputs = (uint64_t{1} << 32) / kStride;
  EXPECT_EQ(proof.inputs, kInputs);
  EXPECT_EQ(sum, kStride * (kInputs * (kInputs - 1) / 2));
}

TEST(DeviceProofTest, OneWrongBitIsFound) {
  SpoiltDevice device([](const Invocation&, uint32_t input, uint32_t& bits) {
    if (input == 0xff700000) bits ^= 1;
    return absl::OkStatus();
  });
  const DeviceProof proof =
      ProveOnDevice(device, Float32Cell("ELEMENT_WISE_IDENTITY"), 0, uint64_t{1} << 20);
  EXPECT_FALSE(proof.is_good());
  EXPECT_EQ(proof.inputs, 4096u);
  ASSERT_EQ(proof.wrong, 1u);
  EXPECT_EQ(proof.first_wrong[0].input, 0xff700000);
  EXPECT_EQ(proof.first_wrong[0].actual, 0xff700001);
  EXPECT_EQ(proof.first_wrong[0].expected, 0xff700000);
}

TEST(DeviceProofTest, AllWrongElementsAreCountedAndTheFirstAreKept) {
  SpoiltDevice device([](const Invocation&, uint32_t, uint32_t& bits) {
    bits ^= 1u << 31;
    return absl::OkStatus();
  });
  const DeviceProof proof =
      ProveOnDevice(device, Float32Cell("ELEMENT_WISE_IDENTITY"), 0, uint64_t{1} << 20);
  EXPECT_EQ(proof.wrong, 4096u);
  EXPECT_EQ(proof.first_wrong.size(), kWrongElementsKept);
}

// Of a NaN that is computed any quiet one may be the result.
TEST(DeviceProofTest, NansMustBeQuiet) {
  const auto prove = [](uint32_t nan) {
    SpoiltDevice device([nan](const Invocation&, uint32_t, uint32_t& bits) {
      if (std::bit_cast<float>(bits) != std::bit_cast<float>(bits)) bits = nan;
      return absl::OkStatus();
    });
    return ProveOnDevice(device, Float32Cell("ELEMENT_WISE_SQRT"), 0, uint64_t{1} << 20);
  };
  EXPECT_TRUE(prove(0x7fc12345).is_good());
  EXPECT_TRUE(prove(0xffffffff).is_good());
  EXPECT_FALSE(prove(0x7f812345).is_good());
  EXPECT_FALSE(prove(0x7f800000).is_good());
}

// The other elements are compared where one is open.
TEST(DeviceProofTest, OpenElementsAreReplaced) {
  SpoiltDevice device([](const Invocation& call, uint32_t input, uint32_t& bits) {
    if (GpuBodyOf(call.op, call.lane_type)(input, 0, call.attributes).is_open) {
      return absl::OutOfRangeError("open");
    }
    if (input == kStrideToOpenInput) bits ^= 1;
    return absl::OkStatus();
  });
  const DeviceProof proof =
      ProveOnDevice(device, Float32Cell("ACTIVATION_ELU"), 0, kStrideToOpenInput);
  EXPECT_TRUE(proof.status.ok()) << proof.status;
  EXPECT_EQ(proof.inputs, 5u);
  EXPECT_EQ(proof.open, 1u);
  ASSERT_EQ(proof.wrong, 1u);
  EXPECT_EQ(proof.first_wrong[0].input, kStrideToOpenInput);
}

TEST(DeviceProofTest, WhatIsOpenOnTheDeviceAloneFails) {
  SpoiltDevice device([](const Invocation&, uint32_t input, uint32_t&) {
    return input == kStrideToOpenInput ? absl::OutOfRangeError("open") : absl::OkStatus();
  });
  const DeviceProof proof =
      ProveOnDevice(device, Float32Cell("ACTIVATION_ELU"), 0, kStrideToOpenInput);
  EXPECT_TRUE(absl::IsOutOfRange(proof.status)) << proof.status;
  EXPECT_TRUE(
      absl::StrContains(proof.status.message(), absl::StrCat(absl::Hex(kStrideToOpenInput))))
      << proof.status;
  EXPECT_FALSE(proof.is_good());
}

TEST(DeviceProofTest, FailureOfTheDeviceIsTold) {
  SpoiltDevice device(
      [](const Invocation&, uint32_t, uint32_t&) { return absl::UnavailableError("lost"); });
  const DeviceProof proof =
      ProveOnDevice(device, Float32Cell("ELEMENT_WISE_ABS"), 0, uint64_t{1} << 20);
  EXPECT_EQ(proof.status, absl::UnavailableError("lost"));
  EXPECT_EQ(proof.inputs, 0u);
  EXPECT_FALSE(proof.is_good());
}

using DeviceProofGpuTest = GpuTest;

TEST_F(DeviceProofGpuTest, DeviceHasNothingWrong) {
  const DeviceProof proof = ProveOnDevice(device(), Float32Cell("ELEMENT_WISE_EXP"), 0, 30011);
  EXPECT_TRUE(proof.is_good()) << proof.status;
  EXPECT_EQ(proof.inputs, (uint64_t{1} << 32) / 30011);
}

TEST_F(DeviceProofGpuTest, DeviceLeavesOpenWhatItsTextDoes) {
  const DeviceProof proof =
      ProveOnDevice(device(), Float32Cell("ACTIVATION_ELU"), 0, kStrideToOpenInput);
  EXPECT_TRUE(proof.is_good()) << proof.status;
  EXPECT_EQ(proof.open, 1u);
}

}  // namespace
}  // namespace opserve::testing
