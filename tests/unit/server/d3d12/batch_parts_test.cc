// Which parts a batch has: together they are the batch, byte for byte, and none is too large.

#include "server/d3d12/batch_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tests/conformance/call_cases.h"

namespace opserve::d3d12 {
namespace {

using opserve::testing::MakeCall;
using opserve::testing::Packed;

constexpr uint32_t kMi = uint32_t{1} << 20;

// One of 1 byte, two of 4, one result of 4.
std::shared_ptr<const Invocation> MakeIf(uint32_t count) {
  return MakeCall({FindOperator("ELEMENT_WISE_IF"), DataType::kFloat32, DataType::kFloat32}, 0,
                  Packed(count));
}

std::shared_ptr<const Invocation> MakeRound(const opserve::testing::Layout& layout) {
  return MakeCall({FindOperator("ELEMENT_WISE_ROUND"), DataType::kFloat16, DataType::kFloat16}, 0,
                  layout);
}

using Bytes = std::vector<std::byte>;

Bytes RandomBytes(uint64_t count, std::mt19937_64& random) {
  Bytes bytes(count);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

uint64_t MovedBytes(std::span<const DeviceCall> calls) {
  uint64_t up = 0;
  uint64_t down = 0;
  for (const DeviceCall& call : calls) {
    for (const uint64_t bytes : call.invocation->input_bytes) up += bytes;
    down += call.invocation->output_bytes;
  }
  return std::max(up, down);
}

TEST(BatchPartsTest, SmallBatchesAreOnePart) {
  const auto call = MakeRound(Packed(1000));
  std::byte output{};
  const std::vector<DeviceCall> calls(3, DeviceCall{.invocation = call.get(), .output = &output});
  const BatchParts parts(calls);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(parts.knows_no_contents());
  ASSERT_EQ(parts[0].size(), 3u);
  for (const DeviceCall& each : parts[0]) EXPECT_EQ(each.invocation, call.get());
}

// Each stretch reads and writes where the whole call does, at element sizes of 1 and 4.
TEST(BatchPartsTest, ALargeCallIsDividedByItsElements) {
  constexpr uint32_t kCount = 5 * kMi + 77;
  std::mt19937_64 random(1);
  const auto call = MakeIf(kCount);
  std::vector<Bytes> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(RandomBytes(call->input_bytes[i], random));
  // The second one in several pieces, one of which is empty.
  const std::span<const std::byte> second = inputs[1];
  const std::vector<std::span<const std::byte>> pieces = {
      second.first(3), {}, second.subspan(3, 12 * kMi), second.subspan(3 + 12 * kMi)};
  Bytes output(call->output_bytes);
  DeviceCall whole = {.invocation = call.get(), .output = output.data()};
  whole.inputs[0] = inputs[0].data();
  whole.inputs[1] = TensorBytes(pieces);
  whole.inputs[2] = inputs[2].data();
  const BatchParts parts({&whole, 1});
  // 45 MiB of inputs.
  ASSERT_EQ(parts.size(), 5u);
  uint64_t elements = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    ASSERT_EQ(parts[p].size(), 1u);
    const DeviceCall& part = parts[p][0];
    const Invocation& invocation = *part.invocation;
    EXPECT_LT(MovedBytes(parts[p]), 2 * kPartBytes);
    EXPECT_TRUE(invocation.plan.is_packed());
    EXPECT_EQ(part.output, output.data() + elements * 4);
    EXPECT_EQ(invocation.output_bytes, invocation.plan.element_count * 4);
    for (size_t i = 0; i < 3; ++i) {
      const uint64_t size = i == 0 ? 1 : 4;
      ASSERT_EQ(invocation.input_bytes[i], invocation.plan.element_count * size);
      Bytes read(invocation.input_bytes[i]);
      part.inputs[i].CopyTo(read.data(), read.size());
      ASSERT_EQ(std::memcmp(read.data(), inputs[i].data() + elements * size, read.size()), 0);
    }
    elements += invocation.plan.element_count;
  }
  EXPECT_EQ(elements, kCount);
}

TEST(BatchPartsTest, CallsAreTakenTogetherInTheirOrder) {
  // 2, 4, 20 and 6 MiB, twice.
  std::vector<std::shared_ptr<const Invocation>> invocations;
  for (int i = 0; i < 2; ++i) {
    for (const uint32_t count : {kMi, 2 * kMi, 10 * kMi, 3 * kMi}) {
      invocations.push_back(MakeRound(Packed(count)));
    }
  }
  Bytes memory(40 * kMi);
  std::vector<DeviceCall> calls;
  for (size_t i = 0; i < invocations.size(); ++i) {
    DeviceCall call = {.invocation = invocations[i].get(), .output = memory.data() + i};
    call.inputs[0] = memory.data();
    calls.push_back(call);
  }
  const BatchParts parts(calls);
  std::vector<std::vector<uint64_t>> sizes;
  for (size_t p = 0; p < parts.size(); ++p) {
    sizes.emplace_back();
    for (const DeviceCall& call : parts[p]) sizes.back().push_back(call.invocation->output_bytes);
    EXPECT_LT(MovedBytes(parts[p]), 2 * kPartBytes);
  }
  const std::vector<std::vector<uint64_t>> expected = {
      {2 * kMi, 4 * kMi}, {10 * kMi + 2048}, {10 * kMi - 2048}, {6 * kMi, 2 * kMi},
      {4 * kMi},          {10 * kMi + 2048}, {10 * kMi - 2048}, {6 * kMi}};
  EXPECT_EQ(sizes, expected);
}

TEST(BatchPartsTest, WhatCannotBeDividedIsAPartByItself) {
  const auto small = MakeRound({"strided", {1000}, {{3}, {}, {}, {2}}});
  const auto large = MakeRound({"strided", {10 * kMi}, {{3}, {}, {}, {2}}});
  std::byte output{};
  const DeviceCall calls[] = {{.invocation = small.get(), .output = &output},
                              {.invocation = large.get(), .output = &output},
                              {.invocation = small.get(), .output = &output}};
  const BatchParts parts(calls);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1][0].invocation, large.get());
}

TEST(BatchPartsTest, BatchesWithContentsAreOnePart) {
  const auto large = MakeRound(Packed(20 * kMi));
  std::byte bytes{};
  DeviceCall plain = {.invocation = large.get(), .output = &bytes};
  plain.inputs[0] = &bytes;
  EXPECT_GT(BatchParts({&plain, 1}).size(), 1u);
  DeviceCall read = plain;
  read.inputs[0] = {&bytes, 7};
  DeviceCall kept = plain;
  kept.content.id = 8;
  for (const DeviceCall& call : {read, kept}) {
    const DeviceCall calls[] = {plain, call};
    const BatchParts parts(calls);
    EXPECT_EQ(parts.size(), 1u);
    EXPECT_FALSE(parts.knows_no_contents());
  }
}

}  // namespace
}  // namespace opserve::d3d12
