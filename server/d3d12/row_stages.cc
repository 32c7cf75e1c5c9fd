#include "server/d3d12/row_stages.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "kernels/hlsl/expressions.h"

namespace opserve::d3d12 {
namespace {

using hlsl::RowConstants;
using hlsl::RowStage;

// Makes the dispatches one after the other.
class Stages {
 public:
  Stages(const Plan& plan, uint64_t records_at)
      : row_count_(plan.row_count()),
        row_length_(plan.row_length()),
        first_row_loop_(static_cast<uint32_t>(*plan.row_begin)),
        next_record_(records_at) {}

  // From the elements of each row to one record. Returns where these are.
  uint32_t Reduce(RowStage stage, uint32_t record_words, uint32_t largest_at) {
    uint64_t inputs = row_length_;
    uint32_t inputs_at = RowConstants::kNoRecords;
    do {
      const uint64_t parts = (inputs + kRowPartLength - 1) / kRowPartLength;
      const auto records_at = static_cast<uint32_t>(next_record_);
      dispatches_.push_back({{.stage = stage,
                              .first_row_loop = first_row_loop_,
                              .input_count = static_cast<uint32_t>(inputs),
                              .part_count = static_cast<uint32_t>(parts),
                              .inputs_at = inputs_at,
                              .records_at = records_at,
                              .largest_at = largest_at},
                             row_count_ * parts});
      next_record_ += row_count_ * parts * record_words;
      inputs = parts;
      inputs_at = records_at;
    } while (inputs > 1);
    return inputs_at;
  }

  void AddResult(uint32_t largest_at, uint32_t sums_at, uint64_t blocks) {
    dispatches_.push_back(
        {{.stage = RowStage::kResults, .largest_at = largest_at, .sums_at = sums_at}, blocks});
  }

  uint64_t next_record() const { return next_record_; }
  std::vector<RowDispatch>& dispatches() { return dispatches_; }

 private:
  const uint64_t row_count_;
  const uint64_t row_length_;
  const uint32_t first_row_loop_;
  uint64_t next_record_;
  std::vector<RowDispatch> dispatches_;
};

Stages StagesOf(const Invocation& call, uint64_t result_blocks, uint64_t records_at) {
  Stages stages(call.plan, records_at);
  const uint32_t largest_at = stages.Reduce(RowStage::kLargest, RowConstants::kLargestWords, 0);
  // Kernels without sums have nothing to leave open.
  const uint32_t sums_at = hlsl::LeavesOpen(call.op)
                               ? stages.Reduce(RowStage::kSums, RowConstants::kSumWords, largest_at)
                               : 0;
  stages.AddResult(largest_at, sums_at, result_blocks);
  return stages;
}

}  // namespace

Plan ResultPlan(const Invocation& call) {
  const Plan& rows = call.plan;
  if (!rows.row_begin) return rows;
  // Strides of the numbers of rows, and of places within them.
  std::array<uint64_t, kMaxDimensionCount> row_strides = {};
  std::array<uint64_t, kMaxDimensionCount> place_strides = {};
  uint64_t stride = 1;
  for (int l = rows.loop_count - 1; l >= 0; --l) {
    if (l + 1 == *rows.row_begin) stride = 1;
    (l < *rows.row_begin ? row_strides : place_strides)[l] = stride;
    stride *= rows.sizes[l];
  }
  std::array<int, kMaxDimensionCount> order = {};
  std::iota(order.begin(), order.end(), 0);
  const auto& output = rows.strides[static_cast<size_t>(rows.tensor_count) - 1];
  std::stable_sort(order.begin(), order.begin() + rows.loop_count,
                   [&output](int a, int b) { return output[a] > output[b]; });
  Plan plan = rows;
  plan.row_begin.reset();
  plan.tensor_count = 4;
  for (int l = 0; l < rows.loop_count; ++l) {
    const int from = order[l];
    plan.sizes[l] = rows.sizes[from];
    plan.strides[0][l] = rows.strides[0][from];
    plan.strides[1][l] = row_strides[from];
    plan.strides[2][l] = place_strides[from];
    plan.strides[3][l] = output[from];
  }
  return plan;
}

uint64_t RecordWords(const Invocation& call) { return StagesOf(call, 0, 0).next_record(); }

std::vector<RowDispatch> RowDispatchesOf(const Invocation& call, uint64_t result_blocks,
                                         uint64_t records_at) {
  return std::move(StagesOf(call, result_blocks, records_at).dispatches());
}

}  // namespace opserve::d3d12
