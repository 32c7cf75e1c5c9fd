#include "kernels/flat_part.h"

#include "kernels/data_type.h"

namespace opserve {

bool IsFlat(const Invocation& call) {
  const Plan& plan = call.plan;
  if (plan.loop_count != 1 || plan.row_begin) return false;
  const int output = plan.tensor_count - 1;
  for (int i = 0; i < output; ++i) {
    if (call.payload_index[i] >= 0 && plan.strides[i][0] != 1) return false;
  }
  return plan.strides[output][0] == 1;
}

Invocation PartOf(const Invocation& call, uint64_t elements) {
  Invocation part = call;
  part.plan.sizes[0] = elements;
  part.plan.element_count = elements;
  for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
    if (call.payload_index[i] < 0) continue;
    part.input_bytes[i] = elements * SizeOf(call.inputs[i].data_type);
  }
  part.output_bytes = elements * SizeOf(call.output.data_type);
  return part;
}

}  // namespace opserve
