// Sequences give what their steps give one by one, to the bit but for computed NaNs, of which any
// quiet one is right, and touch no byte that is not theirs.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/chain.h"
#include "kernels/cpu/cpu_executor.h"
#include "kernels/data_type.h"
#include "kernels/flat_part.h"
#include "kernels/sequence_part.h"
#include "kernels/sequence_plan.h"
#include "tests/conformance/random_sequences.h"
#include "tests/conformance/targets.h"

namespace opserve::testing {
namespace {

class SequenceConformanceTest : public ::testing::Test {
 protected:
  // Runs `sequence` as a whole and step by step.
  void Check(const SequenceInvocation& sequence, const CpuExecutor& executor,
             const std::string& what) {
    const std::vector<GuardedInput> inputs = MakeSequenceInputs(sequence, random_);
    std::vector<const std::byte*> input_pointers;
    for (const GuardedInput& input : inputs) input_pointers.push_back(input.data());
    std::vector<SentinelOutput> outputs;
    std::vector<std::byte*> output_pointers;
    for (size_t i = 0; i < sequence.outputs.size(); ++i) {
      outputs.emplace_back(sequence.output_bytes(i), i % 65);
    }
    for (SentinelOutput& output : outputs) output_pointers.push_back(output.data());
    SentinelOutput memory(sequence.plan.workspace_bytes + kWorkspaceAlignment, 0);
    const auto misalignment = reinterpret_cast<uintptr_t>(memory.data()) % kWorkspaceAlignment;
    std::byte* const workspace = memory.data() + (kWorkspaceAlignment - misalignment);

    executor.RunSequence(sequence, input_pointers, output_pointers, workspace);
    const auto expected = RunStepByStep(sequence, inputs, executor);
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(outputs[i].intact()) << what << ", output " << i;
      // What is read out of the bits of a computed NaN is no result to compare.
      if (sequence.shows_nan_bits) continue;
      const uint32_t step = sequence.outputs[i];
      EXPECT_EQ(DifferenceOfRuns(sequence.call(step).output, expected[i].data(), outputs[i].data()),
                "")
          << what << ", output " << i;
    }
    compared_ += sequence.shows_nan_bits ? 0 : 1;
    EXPECT_TRUE(memory.intact()) << what;
  }

  // Runs `sequence` in stretches of at most `most` elements, each on no more than its own bytes,
  // and compares the results with those of the whole.
  void CheckParts(const SequenceInvocation& sequence, const CpuExecutor& executor, uint64_t most) {
    const std::vector<GuardedInput> inputs = MakeSequenceInputs(sequence, random_);
    const auto expected = RunStepByStep(sequence, inputs, executor);
    std::vector<std::vector<std::byte>> results;
    for (size_t i = 0; i < sequence.outputs.size(); ++i) {
      results.emplace_back(sequence.output_bytes(i));
    }
    const uint64_t count = sequence.call(0).plan.element_count;
    const uint64_t stretch = EvenStretch(sequence, most);
    for (uint64_t begin = 0; begin < count; begin += stretch) {
      const SequenceInvocation part = PartOf(sequence, std::min(stretch, count - begin));
      std::vector<GuardedInput> of_part;
      for (size_t i = 0; i < inputs.size(); ++i) {
        of_part.emplace_back(part.input_bytes[i]);
        const uint64_t element_bytes = sequence.input_bytes[i] / count;
        std::memcpy(of_part[i].data(), inputs[i].data() + begin * element_bytes,
                    part.input_bytes[i]);
      }
      for (const RepeatedInput& repeated : RepeatedInputsOf(sequence)) {
        const Invocation& call = sequence.call(repeated.step);
        const uint64_t place = PlaceOf(call, repeated.input, begin);
        const size_t bytes = part.input_bytes[of_part.size()];
        std::memcpy(
            of_part.emplace_back(bytes).data(),
            inputs[repeated.source].data() + place * SizeOf(call.inputs[repeated.input].data_type),
            bytes);
      }
      std::vector<const std::byte*> pointers;
      for (const GuardedInput& input : of_part) pointers.push_back(input.data());
      std::vector<std::byte*> outputs;
      for (size_t i = 0; i < results.size(); ++i) {
        outputs.push_back(results[i].data() + begin * (results[i].size() / count));
      }
      const std::unique_ptr<std::byte[]> workspace(new std::byte[part.plan.workspace_bytes]);
      executor.RunSequence(part, pointers, outputs, workspace.get());
    }
    if (sequence.shows_nan_bits) return;
    for (size_t i = 0; i < results.size(); ++i) {
      const uint32_t step = sequence.outputs[i];
      EXPECT_EQ(DifferenceOfRuns(sequence.call(step).output, expected[i].data(), results[i].data()),
                "")
          << "output " << i << " in stretches of " << stretch;
    }
    ++compared_;
  }

  std::mt19937_64 random_{20};
  // Runs that the tests below made block by block, and tensor by tensor.
  int blocked_ = 0;
  int single_ = 0;
  // Sequences whose results were compared.
  int compared_ = 0;

  void Count(const SequenceInvocation& sequence) {
    for (const StepGroup& group : sequence.plan.groups) {
      ++(group.size() > 1 ? blocked_ : single_);
    }
  }
};

TEST_F(SequenceConformanceTest, RandomSequences) {
  const CpuExecutor executor(1);
  for (int i = 0; i < 3000; ++i) {
    SequenceShape shape;
    shape.elements = 1 + static_cast<uint32_t>(random_() % (i % 10 == 0 ? 5000 : 300));
    shape.max_steps = i % 7 == 0 ? 40 : 10;
    shape.views = i % 3 == 0 ? 0 : 30;
    shape.strided_outputs = i % 3 == 0 ? 0 : 15;
    const auto sequence = MakeRandomSequence(shape, random_);
    ASSERT_NE(sequence, nullptr);
    Count(*sequence);
    Check(*sequence, executor, "sequence " + std::to_string(i));
    if (HasFailure()) return;
  }
  // Neither way must go untested.
  EXPECT_GT(blocked_, 1000);
  EXPECT_GT(single_, 1000);
  EXPECT_GT(compared_, 2000);
}

// Those that can be computed a few elements at a time; more often than not, one step cannot.
TEST_F(SequenceConformanceTest, PartsOfRandomSequences) {
  const CpuExecutor executor(1);
  int with_repeated = 0;
  for (int i = 0; i < 4000; ++i) {
    const SequenceShape shape = {.max_steps = 6,
                                 .elements = 1 + static_cast<uint32_t>(random_() % 300),
                                 .views = 15,
                                 .strided_outputs = 0};
    const auto sequence = MakeRandomSequence(shape, random_);
    ASSERT_NE(sequence, nullptr);
    if (!WhyNotInOrder(*sequence).empty()) continue;
    with_repeated += RepeatedInputsOf(*sequence).empty() ? 0 : 1;
    const uint64_t count = sequence->call(0).plan.element_count;
    CheckParts(*sequence, executor, 1 + random_() % count);
    ASSERT_FALSE(HasFailure()) << "sequence " << i;
  }
  EXPECT_GT(compared_, 500);
  EXPECT_GT(with_repeated, 100);
}

// Large enough for several threads and for streaming stores.
TEST_F(SequenceConformanceTest, LargeSequencesOnSeveralThreads) {
  const CpuExecutor executor(2);
  for (int i = 0; i < 12; ++i) {
    const SequenceShape shape = {.max_steps = 8,
                                 .elements = i == 0 ? 5'000'001u : 400'003u,
                                 .views = i % 2 == 0 ? 0u : 20u,
                                 .strided_outputs = 0};
    const auto sequence = MakeRandomSequence(shape, random_);
    ASSERT_NE(sequence, nullptr);
    Check(*sequence, executor, "sequence " + std::to_string(i));
    if (HasFailure()) return;
  }
}

TEST_F(SequenceConformanceTest, EveryInstructionSet) {
  const CpuExecutor executor(1);
  for (const int64_t target : RunnableTargets()) {
    const ScopedTarget scoped(target);
    for (int i = 0; i < 100; ++i) {
      const auto sequence = MakeRandomSequence({.elements = 777}, random_);
      ASSERT_NE(sequence, nullptr);
      Check(*sequence, executor, TargetName(target));
      if (HasFailure()) return;
    }
  }
}

// A group, which several threads may run at a time, looks before each block, a sequence before each
// step.
TEST_F(SequenceConformanceTest, WhatIsStoppedWritesNothing) {
  const CpuExecutor executor(1);
  const std::atomic<bool> stop = true;
  const auto sequence = MakeRandomSequence({.elements = 777, .views = 0}, random_);
  ASSERT_NE(sequence, nullptr);
  const std::vector<GuardedInput> inputs = MakeSequenceInputs(*sequence, random_);
  std::vector<const std::byte*> input_pointers;
  for (const GuardedInput& input : inputs) input_pointers.push_back(input.data());
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::byte*> output_pointers;
  for (size_t i = 0; i < sequence->outputs.size(); ++i) {
    outputs.emplace_back(sequence->output_bytes(i), std::byte{0x5A});
    output_pointers.push_back(outputs.back().data());
  }
  const auto untouched = outputs;
  std::vector<std::byte> workspace(sequence->plan.workspace_bytes);
  EXPECT_FALSE(
      executor.RunSequence(*sequence, input_pointers, output_pointers, workspace.data(), &stop));
  EXPECT_TRUE(outputs == untouched);

  int groups = 0;
  for (const StepGroup& group : sequence->plan.groups) {
    if (group.size() == 1) continue;
    ++groups;
    const cpu::SequenceMemory memory = {input_pointers, output_pointers, workspace.data()};
    cpu::ResultTables tables;
    const cpu::Chain chain(*sequence, group, memory, cpu::StoreMode::kCached, tables);
    chain.Run(0, group.element_count, stop);
  }
  EXPECT_GT(groups, 0);
  EXPECT_TRUE(outputs == untouched);
}

}  // namespace
}  // namespace opserve::testing
