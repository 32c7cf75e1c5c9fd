#include "kernels/nan_bits.h"

#include <vector>

#include "kernels/op_table.h"

namespace opserve {
bool ReadsBits(OpId op) {
  const OpShape& shape = TraitsOf(op).shape;
  return shape.is_bitwise && !shape.only_moves;
}

bool ShowsNanBits(std::span<const SequenceStep> steps) {
  // Per step: whether its result may hold a NaN that was computed.
  std::vector<bool> holds;
  for (const SequenceStep& step : steps) {
    const Invocation& call = *step.call;
    bool takes = false;
    for (const TensorSource& source : step.sources) {
      if (source.kind == TensorSource::Kind::kStep && holds[source.index]) takes = true;
    }
    if (takes && ReadsBits(call.op)) return true;
    holds.push_back(IsFloat(call.output.data_type) && (takes || !call.keeps_nan_bits()));
  }
  return false;
}

}  // namespace opserve
