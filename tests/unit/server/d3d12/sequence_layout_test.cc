// Where the tensors of a sequence lie on a device: nothing shares memory that must not, and every
// kernel finds all that it touches inside of its buffers.

#include "server/d3d12/sequence_layout.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/conformance/random_sequences.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::d3d12 {
namespace {

using testing::SequenceBuilder;

// The last step that reads the result of `step`; UINT32_MAX for outputs.
uint32_t LastUse(const SequenceInvocation& sequence, uint32_t step) {
  if (std::count(sequence.outputs.begin(), sequence.outputs.end(), step) > 0) return UINT32_MAX;
  uint32_t last = step;
  const TensorSource source = {TensorSource::Kind::kStep, step};
  for (uint32_t s = step + 1; s < sequence.steps.size(); ++s) {
    const auto& sources = sequence.steps[s].sources;
    if (std::find(sources.begin(), sources.end(), source) != sources.end()) last = s;
  }
  return last;
}

void CheckBounds(const SequenceInvocation& sequence, const SequenceLayout& layout) {
  for (uint32_t s = 0; s < sequence.steps.size(); ++s) {
    const StepLayout& step = layout.steps[s];
    const DeviceCall call = {&sequence.call(s), {}, nullptr};
    const auto alone = LayOut({&call, 1}, kMaxKernelBytes);
    ASSERT_TRUE(alone.ok());
    EXPECT_GE(layout.result_buffers[step.output], alone->output_buffer_bytes);
    const Offsets& bound = alone->dispatches[0].bound;
    for (int i = 0; i < TraitsOf(sequence.call(s).op).input_count(); ++i) {
      const bool is_last = i + 1 == TraitsOf(sequence.call(s).op).input_count();
      const uint64_t touched = (is_last ? bound.plan : bound.inputs[i + 1]) - bound.inputs[i];
      const StepInputPlace& place = step.inputs[i];
      const uint64_t buffer_bytes = place.buffer == StepInputPlace::kInputBuffer
                                        ? layout.input_buffer_bytes
                                        : layout.result_buffers[place.buffer];
      EXPECT_LE(place.offset + touched, buffer_bytes);
      EXPECT_EQ(place.offset % kTensorAlignment, 0u);
      EXPECT_NE(place.buffer, step.output);
    }
    if (step.is_strided()) {
      EXPECT_LE(step.plan + kPlanBytes, layout.input_buffer_bytes);
    }
  }
}

// No result is overwritten while a later step, or the client, still wants it.
void CheckNothingIsOverwritten(const SequenceInvocation& sequence, const SequenceLayout& layout) {
  for (uint32_t s = 0; s < sequence.steps.size(); ++s) {
    const uint32_t last = LastUse(sequence, s);
    for (uint32_t later = s + 1; later < sequence.steps.size() && later <= last; ++later) {
      EXPECT_NE(layout.steps[later].output, layout.steps[s].output) << s << ", " << later;
    }
  }
}

TEST(SequenceLayoutTest, RandomSequences) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 400; ++i) {
    const auto sequence =
        testing::MakeRandomSequence({.max_steps = 20,
                                     .elements = 1 + static_cast<uint32_t>(random() % 3000),
                                     .scale_biases = false},
                                    random);
    ASSERT_NE(sequence, nullptr);
    const auto layout = LayOut(*sequence, kMaxKernelBytes);
    ASSERT_TRUE(layout.ok()) << layout.status();
    CheckBounds(*sequence, *layout);
    CheckNothingIsOverwritten(*sequence, *layout);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(SequenceLayoutTest, ALongChainTakesTwoBuffers) {
  SequenceBuilder builder;
  TensorSource x = builder.Input({DataType::kFloat32, {5000}});
  for (int i = 0; i < 20; ++i) x = builder.Round(x);
  const auto layout = LayOut(*builder.Validate().sequence, kMaxKernelBytes);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->result_buffers.size(), 2u);
}

TEST(SequenceLayoutTest, TensorsTooLargeAreUnimplemented) {
  SequenceBuilder builder;
  TensorSource x = builder.Input({DataType::kFloat32, {1000}});
  TensorSource y = builder.Input({DataType::kFloat32, {1000}});
  builder.Modulus(builder.Round(x), builder.Round(y));
  const auto sequence = builder.Validate().sequence;
  EXPECT_TRUE(LayOut(*sequence, 8192).ok());
  // Each step would fit, but not all inputs together.
  EXPECT_TRUE(absl::IsUnimplemented(LayOut(*sequence, 8191).status()));
}

// Kernels compute whole words.
TEST(SequenceLayoutTest, TheRestOfTheLastWordOfAnInputIsCleared) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat16, {3}});
  builder.Modulus(x, builder.Input({DataType::kFloat16, {3}}));
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  const auto layout = LayOut(*sequence, kMaxKernelBytes);
  ASSERT_TRUE(layout.ok());
  const std::vector<std::byte> ones(6, std::byte{1});
  const SequenceCall call = {.sequence = sequence.get(), .inputs = {ones.data(), ones.data()}};
  std::vector<std::byte> upload(layout->input_buffer_bytes, std::byte{0xff});
  HostCopies copies;
  WriteInputs(*layout, call, upload.data(), copies);
  for (const uint64_t input : layout->inputs) {
    EXPECT_EQ(upload[input + 6], std::byte{0});
    EXPECT_EQ(upload[input + 7], std::byte{0});
    EXPECT_EQ(upload[input + 8], std::byte{0xff});
  }
}

}  // namespace
}  // namespace opserve::d3d12
