// Which parts a sequence has: together they compute what it computes, and none is too large.

#include "server/d3d12/sequence_parts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "server/d3d12/batch_parts.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/random_sequences.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::d3d12 {
namespace {

using opserve::testing::GuardedInput;
using opserve::testing::MakeSequenceInputs;
using opserve::testing::RunStepByStep;
using opserve::testing::SequenceBuilder;
using opserve::testing::TestView;

class SequencePartsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kMi = uint32_t{1} << 20;

  // The call of a sequence on random inputs, the first of which comes in several pieces.
  SequenceCall CallOf(const SequenceInvocation& sequence) {
    inputs_ = MakeSequenceInputs(sequence, random_);
    SequenceCall call = {.sequence = &sequence};
    for (const GuardedInput& input : inputs_) call.inputs.emplace_back(input.data());
    const std::span<const std::byte> first(inputs_[0].data(), inputs_[0].size());
    pieces_ = {first.first(3), {}, first.subspan(3, 10 * kMi), first.subspan(3 + 10 * kMi)};
    call.inputs[0] = TensorBytes(pieces_);
    outputs_.clear();
    for (size_t i = 0; i < sequence.outputs.size(); ++i) {
      call.outputs.push_back(outputs_.emplace_back(sequence.output_bytes(i)).data());
    }
    return call;
  }

  // Runs one part, and brings its results to their places.
  void Run(const SequenceCall& part) {
    std::vector<GuardedInput> inputs;
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      GuardedInput& input = inputs.emplace_back(part.sequence->input_bytes[i]);
      ASSERT_EQ(part.inputs[i].is_absent(), input.size() == 0);
      if (input.size() > 0) part.inputs[i].CopyTo(input.data(), input.size());
    }
    const auto results = RunStepByStep(*part.sequence, inputs, executor_);
    for (size_t i = 0; i < results.size(); ++i) {
      std::memcpy(part.outputs[i], results[i].data(), part.sequence->output_bytes(i));
    }
  }

  // `sequence` is divided into so many parts, which do the same.
  void ExpectParts(const std::shared_ptr<const SequenceInvocation>& sequence, size_t count) {
    ASSERT_NE(sequence, nullptr);
    const SequenceCall call = CallOf(*sequence);
    const SequenceParts parts(DeviceCall{.sequence = &call});
    ASSERT_EQ(parts.size(), count);
    for (size_t p = 0; p < count; ++p) {
      uint64_t moved = 0;
      for (const uint64_t bytes : parts[p].sequence->sequence->input_bytes) moved += bytes;
      EXPECT_LT(moved, 2 * kPartBytes);
      Run(*parts[p].sequence);
    }
    const auto expected = RunStepByStep(*sequence, inputs_, executor_);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      EXPECT_EQ(std::memcmp(outputs_[i].data(), expected[i].data(), outputs_[i].size()), 0) << i;
    }
  }

  static void ExpectWhole(const SequenceCall& call) {
    const SequenceParts parts(DeviceCall{.sequence = &call});
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].sequence, &call);
  }

  std::mt19937_64 random_{5};
  const CpuExecutor executor_{1};
  std::vector<GuardedInput> inputs_;
  std::vector<std::span<const std::byte>> pieces_;
  std::vector<std::vector<std::byte>> outputs_;
};

// Results of 1 and of 4 bytes per element.
TEST_F(SequencePartsTest, ALargeOneIsDividedByItsElements) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {3 * kMi + 77}});
  const TensorSource y = builder.Input({DataType::kFloat32, {3 * kMi + 77}});
  const TensorSource rest = builder.Modulus(builder.Round(x, 1), y);
  builder.Return(builder.IsInfinity(rest)).Return(rest);
  ExpectParts(builder.Validate().sequence, 3);
}

// Rows of which every one is worked on with the same, and with the same number.
TEST_F(SequencePartsTest, RepeatedInputsGoWithEachPart) {
  const std::vector<uint32_t> sizes = {1501, 4000};
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, sizes});
  const TensorSource row = builder.Input({DataType::kFloat32, {1, 4000}});
  const TensorSource number = builder.Input({DataType::kFloat32, {1, 1}});
  const TensorSource by_row = builder.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder.From(x).From(row, TestView{sizes, {0, 1}});
  const TensorSource result = builder.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
  builder.From(by_row).From(number, TestView{sizes, {0, 0}});
  builder.Return(result);
  // Whole rows: the third part has a few that are left.
  ExpectParts(builder.Validate().sequence, 3);
}

TEST_F(SequencePartsTest, SmallOnesAreOnePart) {
  SequenceBuilder builder;
  builder.Return(builder.Round(builder.Input({DataType::kFloat32, {4 * kMi - 1}})));
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  ExpectWhole(CallOf(*sequence));
}

TEST_F(SequencePartsTest, OnesWithContentsAreOnePart) {
  SequenceBuilder builder;
  builder.Return(builder.Round(builder.Input({DataType::kFloat32, {8 * kMi}})));
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  const SequenceCall plain = CallOf(*sequence);
  EXPECT_GT(SequenceParts(DeviceCall{.sequence = &plain}).size(), 1u);
  SequenceCall read = plain;
  read.inputs[0] = {inputs_[0].data(), 7};
  ExpectWhole(read);
  SequenceCall kept = plain;
  kept.contents.push_back({.id = 8});
  ExpectWhole(kept);
}

// Elements are not computed in the order in which they come, or each part would need too much.
TEST_F(SequencePartsTest, WhatCannotBeDividedIsOnePart) {
  const std::vector<uint32_t> sizes = {8, kMi};
  for (const TestView& view : {TestView{sizes, {1, 8}}, TestView{sizes, {0, 1}}}) {
    SequenceBuilder builder;
    const TensorSource x = builder.Input({DataType::kFloat32, sizes});
    const TensorSource y = builder.Input({DataType::kFloat32, sizes});
    const TensorSource result = builder.Step("ELEMENT_WISE_MODULUS_TRUNCATE");
    builder.From(x).From(y, view);
    builder.Return(result);
    const auto sequence = builder.Validate().sequence;
    ASSERT_NE(sequence, nullptr);
    ExpectWhole(CallOf(*sequence));
  }
}

}  // namespace
}  // namespace opserve::d3d12
