#include "server/execute/run_plan.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/flat_part.h"
#include "kernels/validate.h"
#include "server/execute/answer_queue.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

constexpr uint64_t kWindow = uint64_t{8} << 20;

std::shared_ptr<const Invocation> Checked(const OperatorRequest& request) {
  const ValidationResult result = Validate(request, {.max_tensor_bytes = UINT64_MAX});
  for (const Violation& violation : result.violations) ADD_FAILURE() << violation.description;
  return result.invocation;
}

// IF of `count` elements: a byte and two FLOAT32 give a FLOAT32.
std::shared_ptr<const Invocation> IfCall(uint32_t count) {
  const std::vector<uint32_t> sizes = {count};
  OperatorRequest request;
  request.operator_name = "ELEMENT_WISE_IF";
  for (const DataType type : {DataType::kUint8, DataType::kFloat32, DataType::kFloat32}) {
    request.inputs.push_back({.data_type = static_cast<int>(type)});
  }
  request.payload_bytes = {count, 4ull * count, 4ull * count};
  for (TensorDescView& input : request.inputs) input.sizes = sizes;
  return Checked(request);
}

// IF of `count` elements with two single numbers.
std::shared_ptr<const Invocation> ClampedCall(uint32_t count) {
  const std::vector<uint32_t> sizes = {count};
  const std::vector<uint32_t> strides = {0};
  OperatorRequest request;
  request.operator_name = "ELEMENT_WISE_IF";
  request.inputs.push_back({.data_type = static_cast<int>(DataType::kUint8), .sizes = sizes});
  for (int i = 0; i < 2; ++i) {
    request.inputs.push_back({.data_type = static_cast<int>(DataType::kFloat32), .sizes = sizes});
    request.inputs.back().strides = strides;
  }
  request.payload_bytes = {count, 4, 4};
  return Checked(request);
}

// The plan of such a call.
RunPlan PlanIf(uint32_t count, uint64_t wished, uint64_t window) {
  const auto call = IfCall(count);
  const std::vector<uint64_t> lengths = {count, 4ull * count, 4ull * count};
  return PlanRuns(*call, lengths, {.run_bytes = wished}, window).plan.value();
}

// FLOAT16 of `rows` rows, to each of which a row is added.
struct RowCall {
  RowCall(uint32_t rows, uint32_t columns)
      : sizes({rows, columns}), lengths({2ull * rows * columns, 2ull * columns}) {
    OperatorRequest request;
    request.operator_name = "ELEMENT_WISE_ADD";
    const TensorDescView matrix = {.data_type = static_cast<int>(DataType::kFloat16),
                                   .sizes = sizes};
    TensorDescView row = matrix;
    const std::vector<uint32_t> strides = {0, 1};
    row.strides = strides;
    request.inputs = {matrix, row};
    request.payload_bytes = lengths;
    call = Checked(request);
  }

  RunDivision Divide(const RunOffer& offer, uint64_t window = kWindow) const {
    return PlanRuns(*call, lengths, offer, window);
  }

  std::vector<uint32_t> sizes;
  std::vector<uint64_t> lengths;
  std::shared_ptr<const Invocation> call;
};

// What every plan must keep to.
void Check(const RunPlan& plan, uint64_t count, uint64_t wished, uint64_t window) {
  SCOPED_TRACE(std::to_string(count) + " elements, " + std::to_string(wished) + " of " +
               std::to_string(window));
  uint64_t elements = 0;
  std::vector<uint64_t> sums(3);
  const uint64_t runs = plan.run_count();
  for (uint64_t run = 0; run < runs; ++run) {
    const std::vector<uint64_t> lengths = plan.LengthsOf(run);
    const uint64_t in_run = plan.ElementsOf(run);
    EXPECT_GT(in_run, 0u);
    EXPECT_LE(in_run, plan.run_elements);
    EXPECT_EQ(lengths, (std::vector<uint64_t>{in_run, 4 * in_run, 4 * in_run}));
    elements += in_run;
  }
  EXPECT_EQ(elements, count);
  EXPECT_EQ(plan.bytes(), 13 * count);
  EXPECT_EQ(plan.run_bytes(), 13 * plan.run_elements);
  EXPECT_GE(plan.max_open_runs, 1u);
  if (plan.run_elements == 1) return;
  EXPECT_LE(plan.held_bytes(), window);
  EXPECT_LE(9 * plan.run_elements, kStreamPieceBytes);
  EXPECT_TRUE(wished == 0 || 9 * plan.run_elements <= wished);
  EXPECT_TRUE(runs <= 4 || plan.max_open_runs >= 4);
}

TEST(RunPlanTest, EveryElementIsInOneRunAndRunsFitIntoTheWindow) {
  for (const uint32_t count : {1u, 63u, 64u, 65u, 100'000u, 131'072u, 2'000'001u}) {
    for (const uint64_t wished : {0u, 900u, 9'000u, 524'288u, 1u << 30}) {
      for (const uint64_t window : {uint64_t{4096}, uint64_t{1} << 20, kWindow}) {
        Check(PlanIf(count, wished, window), count, wished, window);
      }
    }
  }
}

TEST(RunPlanTest, ATensorMayHaveAsManyElementsAsThereCanBe) {
  const RunPlan plan = PlanIf(UINT32_MAX, 0, kWindow);
  EXPECT_EQ(plan.element_count, UINT32_MAX);
  EXPECT_EQ(plan.bytes(), 13ull * UINT32_MAX);
  EXPECT_LE(plan.held_bytes(), kWindow);
  const uint64_t last = plan.run_count() - 1;
  EXPECT_EQ(last * plan.run_elements + plan.ElementsOf(last), UINT32_MAX);
}

TEST(RunPlanTest, ARunHasOneElementWhereNoMoreFit) {
  const RunPlan plan = PlanIf(10, 1, 1);
  EXPECT_EQ(plan.run_elements, 1u);
  EXPECT_EQ(plan.run_count(), 10u);
  EXPECT_EQ(plan.max_open_runs, 1u);
}

TEST(RunPlanTest, WishedRunsAreOfWholeCacheLines) {
  EXPECT_EQ(PlanIf(100'000, 9 * 1000, kWindow).run_elements, 960u);
  EXPECT_EQ(PlanIf(100'000, 9 * 50, kWindow).run_elements, 50u);
}

TEST(RunPlanTest, APartHasThePlanAndTheBytesOfItsElements) {
  const auto call = IfCall(1000);
  ASSERT_TRUE(IsFlat(*call));
  const Invocation part = PartOf(*call, 7);
  EXPECT_TRUE(part.plan.is_packed());
  EXPECT_EQ(part.plan.element_count, 7u);
  EXPECT_EQ(part.plan.sizes[0], 7u);
  EXPECT_EQ(part.input_bytes, (std::array<uint64_t, kMaxInputs>{7, 28, 28}));
  EXPECT_EQ(part.output_bytes, 28u);
  EXPECT_EQ(call->output_bytes, 4000u);
}

TEST(RunPlanTest, WhatIsRepeatedIsSentAheadAndHeld) {
  const RowCall call(100'000, 1000);
  const RunDivision division = call.Divide({.run_bytes = 500'000, .sends_ahead = true});
  ASSERT_TRUE(division.plan) << division.why_whole;
  const RunPlan& plan = *division.plan;
  EXPECT_EQ(plan.ahead, (std::vector<uint64_t>{0, 2000}));
  // Whole rows, of whole cache lines.
  EXPECT_EQ(plan.run_elements, 248'000u);
  EXPECT_EQ(plan.LengthsOf(0), (std::vector<uint64_t>{496'000, 0}));
  EXPECT_EQ(plan.run_bytes(), 2 * 496'000u);
  EXPECT_EQ(plan.bytes(), 2000 + 400'000'000u);
  EXPECT_EQ(plan.held_bytes(), 2000 + plan.max_open_runs * plan.run_bytes());
  EXPECT_LE(plan.held_bytes(), kWindow);
}

TEST(RunPlanTest, WhatIsHeldTakesTheRoomOfRuns) {
  const uint32_t columns = 1 << 20;  // a quarter of the window
  const RunDivision division = RowCall(100, columns).Divide({.sends_ahead = true});
  ASSERT_TRUE(division.plan) << division.why_whole;
  EXPECT_EQ(division.plan->run_elements, uint64_t{1} << 18);
  EXPECT_EQ(division.plan->max_open_runs, 6u);
  EXPECT_LE(division.plan->held_bytes(), kWindow);
  EXPECT_EQ(RowCall(100, columns + 2).Divide({.sends_ahead = true}).why_whole,
            "what it has to hold of its inputs is more than a quarter of the window");
}

TEST(RunPlanTest, AClientThatSendsNothingAheadGetsNoPlanThatNeedsIt) {
  const RunDivision division = RowCall(1000, 1000).Divide({.sends_ahead = false});
  EXPECT_FALSE(division.plan);
  EXPECT_EQ(division.why_whole,
            "its elements are not computed one by one in the order in which they come");
}

TEST(RunPlanTest, RowsThatDivideBadlyAreWhole) {
  // Of one element each, or the whole row, which is prime and more than a run may have.
  const RowCall call(100, 10'007);
  EXPECT_EQ(call.Divide({.run_bytes = 10'000, .sends_ahead = true}).why_whole,
            "its loops do not divide into parts of the same length");
  EXPECT_TRUE(call.Divide({.sends_ahead = true}).plan);
  EXPECT_TRUE(call.Divide({.run_bytes = 1, .sends_ahead = true}).plan);
}

TEST(RunPlanTest, APayloadThatIsSentAheadMayBePadded) {
  RowCall call(100, 9);
  call.lengths[1] = 20;
  const RunDivision division = call.Divide({.sends_ahead = true});
  ASSERT_TRUE(division.plan) << division.why_whole;
  EXPECT_EQ(division.plan->ahead, (std::vector<uint64_t>{0, 20}));
  call.lengths[0] += 2;
  EXPECT_EQ(call.Divide({.sends_ahead = true}).why_whole, "a payload is longer than its tensor");
}

// Clients choose the lengths, of which the sum may have more than 64 bits.
TEST(RunPlanTest, LengthsWithoutEndAreNotHeld) {
  RowCall call(100, 9);
  for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 16}) {
    call.lengths[1] = bytes;
    EXPECT_EQ(call.Divide({.sends_ahead = true}).why_whole,
              "what it has to hold of its inputs is more than a quarter of the window");
  }
  const auto clamped = ClampedCall(100);
  const std::vector<uint64_t> lengths = {100, uint64_t{1} << 63, uint64_t{1} << 63};
  EXPECT_EQ(PlanRuns(*clamped, lengths, {.sends_ahead = true}, kWindow).why_whole,
            "what it has to hold of its inputs is more than a quarter of the window");
}

// FLOAT32 of `rows` rows: a row is added, what comes of that is rounded, and another row added.
struct RowsSequence {
  RowsSequence(uint32_t rows, uint32_t columns) {
    SequenceBuilder builder;
    const TensorSource x = builder.Input({DataType::kFloat32, {rows, columns}});
    const TensorSource row = builder.Input({DataType::kFloat32, {columns}});
    const TestView repeated = {{rows, columns}, {0, 1}};
    const TensorSource sum = builder.Step("ELEMENT_WISE_ADD");
    builder.From(x).From(row, repeated);
    const TensorSource rounded = builder.Round(sum);
    builder.Step("ELEMENT_WISE_ADD");
    builder.From(rounded).From(row, repeated);
    const SequenceValidationResult result =
        builder.Validate({.tensors = {.max_tensor_bytes = UINT64_MAX}});
    for (const Violation& violation : result.violations) ADD_FAILURE() << violation.description;
    sequence = result.sequence;
  }

  RunDivision Divide(const RunOffer& offer, uint64_t window = kWindow) const {
    return PlanRuns(*sequence, sequence->input_bytes, offer, window);
  }

  std::shared_ptr<const SequenceInvocation> sequence;
};

TEST(RunPlanTest, ASequenceHoldsWhatLiesBetweenItsSteps) {
  const RowsSequence rows(100'000, 1000);
  for (const uint64_t window : {uint64_t{1} << 20, kWindow}) {
    const RunDivision division = rows.Divide({.sends_ahead = true}, window);
    ASSERT_TRUE(division.plan) << division.why_whole;
    const RunPlan& plan = *division.plan;
    EXPECT_EQ(plan.ahead, (std::vector<uint64_t>{0, 4000}));
    EXPECT_EQ(plan.run_elements % 1000, 0u);
    EXPECT_EQ(plan.run_bytes(), 8 * plan.run_elements);
    // Two results are alive at a time.
    EXPECT_GE(plan.workspace_bytes, 2 * 4 * plan.run_elements);
    EXPECT_EQ(plan.held_bytes(),
              4000 + plan.workspace_bytes + plan.max_open_runs * plan.run_bytes());
    EXPECT_LE(plan.held_bytes(), window);
    EXPECT_GE(plan.max_open_runs, 4u);
  }
}

TEST(RunPlanTest, StepsThatGoThroughTheCachesTogetherHoldNothingBetweenThem) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {1'000'003}});
  builder.Round(builder.Round(builder.Round(x)));
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  const RunDivision division = PlanRuns(*sequence, sequence->input_bytes, {}, kWindow);
  ASSERT_TRUE(division.plan) << division.why_whole;
  EXPECT_EQ(division.plan->run_elements, kStreamPieceBytes / 4);
  EXPECT_EQ(division.plan->workspace_bytes, 0u);
  EXPECT_EQ(division.plan->max_open_runs, 4u);
}

// Each counts in the window, and the largest of them is a message of a run.
TEST(RunPlanTest, ASequenceMayHaveSeveralOutputs) {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kInt64, {1'000'003}});
  const TensorSource is_less = builder.Step("ELEMENT_WISE_LOGICAL_LESS_THAN");
  builder.From(x).From(x);
  const TensorSource sum = builder.Step("ELEMENT_WISE_ADD");
  builder.From(x).From(x);
  builder.Return(sum);
  builder.Return(is_less);
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  const RunDivision division = PlanRuns(*sequence, sequence->input_bytes, {}, kWindow);
  ASSERT_TRUE(division.plan) << division.why_whole;
  EXPECT_EQ(division.plan->result_element_bytes, (std::vector<uint64_t>{8, 1}));
  EXPECT_EQ(division.plan->run_elements, kWindow / 4 / 17 / 64 * 64);
  EXPECT_EQ(division.plan->run_bytes(), 17 * division.plan->run_elements);
  EXPECT_EQ(division.plan->bytes(), 17u * 1'000'003);
}

TEST(RunPlanTest, ASequenceThatIsWholeTellsWhy) {
  EXPECT_EQ(RowsSequence(1000, 1000).Divide({.sends_ahead = false}).why_whole,
            "its elements are not computed one by one in the order in which they come");
  EXPECT_EQ(RowsSequence(100, 10'007).Divide({.run_bytes = 20'000, .sends_ahead = true}).why_whole,
            "its loops do not divide into parts of the same length");
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {1, 1, 4, 25}});
  builder.Step("ACTIVATION_SOFTMAX");
  builder.From(x);
  const auto sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  EXPECT_EQ(PlanRuns(*sequence, sequence->input_bytes, {}, kWindow).why_whole,
            "the elements of step 0 are not computed one by one in the order in which they come");
}

}  // namespace
}  // namespace opserve::testing
