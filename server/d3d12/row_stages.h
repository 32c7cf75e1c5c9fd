// File: server/d3d12/row_stages.h
//
// The dispatches of a call whose operator computes rows (kernels/hlsl/rows.hlsli): which records
// each leaves behind the result for those after it. Pure arithmetic on the host, and with
// dispatch.h the memory-safety boundary.

#ifndef OPSERVE_SERVER_D3D12_ROW_STAGES_H_
#define OPSERVE_SERVER_D3D12_ROW_STAGES_H_

#include <cstdint>
#include <vector>

#include "kernels/hlsl/kernel_key.h"
#include "kernels/invocation.h"
#include "kernels/plan.h"

namespace opserve::d3d12 {

// Most elements, or records, that a thread makes one record of: few enough that a long row has many
// threads, and that a command of the fewest threads is short on a slow device as well.
inline constexpr uint64_t kRowPartLength = 64;

// The loops of a call as strided kernels write its result, with tensors whose strides they read:
// the inputs, or for rows the input, the number of the row, and the place in it; and the output.
// Loops are in the order of the output's addresses.
Plan ResultPlan(const Invocation& call);

// One dispatch. Its blocks are the records that it leaves, or those of the result.
struct RowDispatch {
  hlsl::RowConstants constants;
  uint64_t block_count = 0;

  // Dispatch::cost_per_block.
  uint32_t cost_per_block() const {
    const bool is_result = constants.stage == hlsl::RowStage::kResults;
    return is_result ? 1 : (constants.input_count - 1) / constants.part_count + 1;
  }
};

// Words of all records of a call.
uint64_t RecordWords(const Invocation& call);

// The dispatches in their order, the last one that of the result, of `result_blocks` blocks;
// records begin at word `records_at`. Places have fewer than 32 bits if the records' end has.
// Thread-safe, like all functions here.
std::vector<RowDispatch> RowDispatchesOf(const Invocation& call, uint64_t result_blocks,
                                         uint64_t records_at);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_ROW_STAGES_H_
