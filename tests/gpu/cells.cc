#include "tests/gpu/cells.h"

#include <set>
#include <string>
#include <tuple>

#include "kernels/hlsl/render.h"

namespace opserve::testing {

std::vector<Cell> CellsWithKernels() {
  std::vector<Cell> cells;
  for (const hlsl::KernelKey& key : hlsl::AllKernelKeys()) {
    if (key.mode == 0 && key.layout == hlsl::LayoutClass::kPacked) {
      cells.push_back({&TraitsOf(key.op), key.lane, key.output});
    }
  }
  return cells;
}

std::vector<Cell> CellsOfEachWidth() {
  std::set<std::tuple<std::string, size_t, size_t, bool>> seen;
  std::vector<Cell> cells;
  for (const Cell& cell : CellsWithKernels()) {
    const bool has_numbers = !cell.op->attributes.empty() && !cell.op->has_mode();
    if (has_numbers && cell.lane != DataType::kFloat32) continue;
    // Powers take long, of floats above all. gpu_power_test.cc has all of their types.
    if (cell.op->shape.tells_integers && cell.lane != DataType::kInt32) continue;
    const bool is_new = seen.insert({std::string(cell.op->shape.operands), SizeOf(cell.lane),
                                     SizeOf(cell.output), has_numbers})
                            .second;
    if (is_new) cells.push_back(cell);
  }
  return cells;
}

}  // namespace opserve::testing
