// Sequences on a Direct3D 12 device: one submission, right results, nothing left behind.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "server/d3d12/runtime/hresult.h"
#include "server/pool/verify/result_check.h"
#include "tests/conformance/buffers.h"
#include "tests/conformance/random_sequences.h"
#include "tests/gpu/cells.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

class GpuSequenceTest : public GpuTest {
 protected:
  // Runs `sequence`, whose outputs must be those of the processor. Returns what the device says.
  absl::Status Check(ComputeDevice& device, const SequenceInvocation& sequence) {
    const std::vector<GuardedInput> inputs = MakeSequenceInputs(sequence, random_);
    std::vector<SentinelOutput> outputs;
    for (size_t i = 0; i < sequence.outputs.size(); ++i) {
      outputs.emplace_back(sequence.output_bytes(i), i % 9);
    }
    SequenceCall call = {.sequence = &sequence};
    for (const GuardedInput& input : inputs) call.inputs.push_back(input.data());
    for (SentinelOutput& output : outputs) call.outputs.push_back(output.data());
    const DeviceCall device_call = {.sequence = &call};
    absl::Status status = device.Run({&device_call, 1});
    if (!status.ok()) return status;
    const auto expected = RunStepByStep(sequence, inputs, executor_);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto difference =
          FirstDifference(sequence, sequence.outputs[i], expected[i].data(), outputs[i].data());
      EXPECT_FALSE(difference.has_value()) << "output " << i << ": " << difference->ToString();
      EXPECT_TRUE(outputs[i].intact());
    }
    return status;
  }

  std::shared_ptr<const SequenceInvocation> Valid(const SequenceBuilder& builder) {
    SequenceValidationResult result = builder.Validate();
    for (const Violation& violation : result.violations) {
      ADD_FAILURE() << violation.field << ": " << violation.description;
    }
    return result.sequence;
  }

  std::mt19937_64 random_{7};
  const CpuExecutor executor_{1};
};

TEST_F(GpuSequenceTest, RandomSequences) {
  int answered = 0;
  for (int i = 0; i < 300; ++i) {
    SequenceShape shape;
    shape.elements = 1 + static_cast<uint32_t>(random_() % (i % 10 == 0 ? 5000 : 300));
    shape.max_steps = i % 7 == 0 ? 30 : 8;
    shape.cells = CellsOfEachWidth();
    shape.scale_biases = false;
    const auto sequence = MakeRandomSequence(shape, random_);
    ASSERT_NE(sequence, nullptr);
    // Runs on the processor.
    if (sequence->shows_nan_bits) continue;
    const absl::Status status = Check(device(), *sequence);
    // Some read results whose strides interleave.
    ASSERT_TRUE(status.ok() || absl::IsUnimplemented(status)) << status;
    answered += status.ok() ? 1 : 0;
    if (HasFailure()) {
      ADD_FAILURE() << "sequence " << i;
      return;
    }
  }
  EXPECT_GT(answered, 200);
}

TEST_F(GpuSequenceTest, IsOneSubmissionAndAllocatesNothingOnceWarm) {
  SequenceBuilder builder;
  TensorSource x = builder.Input({DataType::kFloat32, {1000}});
  for (int i = 0; i < 8; ++i) x = builder.Round(x, i % 3);
  const auto sequence = Valid(builder);
  ASSERT_NE(sequence, nullptr);
  ASSERT_TRUE(Check(device(), *sequence).ok());
  FailingCall fault("Create", kOutOfMemory);
  {
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_TRUE(Check(device(), *sequence).ok());
  }
  EXPECT_EQ(fault.failures, 0);
  FailingCall submissions("->Signal", 0);
  submissions.armed = false;
  d3d12::ScopedFaultInjector injector(submissions);
  EXPECT_TRUE(Check(device(), *sequence).ok());
  EXPECT_EQ(submissions.passes, 1);
}

// With room for some of its bytes at a time.
TEST_F(GpuSequenceTest, ALargeOneRunsInParts) {
  const auto device = MakeDevice({.staging_bytes = 24 << 20});
  ASSERT_NE(device, nullptr);
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {3'200'005}});
  const TensorSource y = builder.Input({DataType::kFloat32, {3'200'005}});
  const TensorSource rest = builder.Modulus(builder.Round(x), y);
  builder.Return(builder.IsInfinity(rest)).Return(rest);
  const auto sequence = Valid(builder);
  ASSERT_NE(sequence, nullptr);
  FailingCall submissions("->Signal", 0);
  submissions.armed = false;
  d3d12::ScopedFaultInjector injector(submissions);
  EXPECT_TRUE(Check(*device, *sequence).ok());
  EXPECT_EQ(submissions.passes, 3);
}

TEST_F(GpuSequenceTest, OneThatNobodyWaitsForIsNotBegun) {
  SequenceBuilder builder;
  builder.Round(builder.Input({DataType::kFloat32, {10}}));
  const auto sequence = Valid(builder);
  ASSERT_NE(sequence, nullptr);
  std::vector<float> memory(10);
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  const std::atomic<bool> stop = true;
  const SequenceCall call = {
      .sequence = sequence.get(), .inputs = {bytes}, .outputs = {bytes}, .stop = &stop};
  const DeviceCall device_call = {.sequence = &call};
  EXPECT_TRUE(absl::IsCancelled(device().Run({&device_call, 1})));
}

// The device writes such results densely, which only the host can put right.
TEST_F(GpuSequenceTest, InterleavedResultsCanBeReturnedButNotRead) {
  for (const bool is_read : {false, true}) {
    SequenceBuilder builder;
    const TensorSource x = builder.Input({DataType::kFloat32, {2, 3}});
    const TensorSource interleaved = builder.Round(x);
    builder.Output({DataType::kFloat32, {2, 3}, {3, 2}});
    if (is_read) builder.Round(interleaved);
    const auto sequence = Valid(builder);
    ASSERT_NE(sequence, nullptr);
    const absl::Status status = Check(device(), *sequence);
    EXPECT_EQ(status.code(), is_read ? absl::StatusCode::kUnimplemented : absl::StatusCode::kOk);
  }
}

TEST_F(GpuSequenceTest, TooMuchForItsMemoryIsNoLoss) {
  const auto device = MakeDevice({.memory_budget = 1 << 20});
  ASSERT_NE(device, nullptr);
  for (const uint32_t count : {1'000'000u, 1000u}) {
    SequenceBuilder builder;
    builder.Round(builder.Round(builder.Input({DataType::kFloat32, {count}})));
    const auto sequence = Valid(builder);
    ASSERT_NE(sequence, nullptr);
    EXPECT_EQ(Check(*device, *sequence).code(),
              count > 1000 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk);
  }
}

}  // namespace
}  // namespace opserve::testing
