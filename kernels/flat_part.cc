#include "kernels/flat_part.h"

#include <algorithm>
#include <numeric>

#include "kernels/data_type.h"

namespace opserve {
namespace {

// Elements of whole cache lines, whatever the types.
constexpr uint64_t kElementsPerUnit = 64;

// The largest divisor of `number`, which has 32 bits, up to `most`.
uint64_t DivisorUpTo(uint64_t number, uint64_t most) {
  uint64_t largest = 1;
  for (uint64_t small = 1; small * small <= number; ++small) {
    if (number % small != 0) continue;
    for (const uint64_t divisor : {small, number / small}) {
      if (divisor <= most) largest = std::max(largest, divisor);
    }
  }
  return largest;
}

// Elements from the first to the last one of a tensor that the nest of `plan` reaches.
uint64_t ExtentOf(const Plan& plan, int tensor) {
  uint64_t extent = 1;
  for (int l = 0; l < plan.loop_count; ++l) extent += (plan.sizes[l] - 1) * plan.strides[tensor][l];
  return extent;
}

}  // namespace

bool IsInOrder(const Invocation& call) {
  return !call.plan.row_begin && call.plan.is_packed_from(0, call.plan.tensor_count - 1);
}

bool RunsAlong(const Invocation& call, int input) { return call.plan.is_packed_from(0, input); }

bool IsFlat(const Invocation& call) {
  if (!IsInOrder(call)) return false;
  for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
    if (call.payload_index[i] >= 0 && !RunsAlong(call, i)) return false;
  }
  return true;
}

uint64_t EvenStretch(const Invocation& call, uint64_t most) {
  const Plan& plan = call.plan;
  // Elements of one iteration.
  uint64_t inner = 1;
  int loop = plan.loop_count - 1;
  while (loop > 0 && inner * plan.sizes[loop] <= most) inner *= plan.sizes[loop--];
  const uint64_t size = plan.sizes[loop];
  uint64_t iterations = std::min(most / inner, size);
  if (loop > 0) return inner * DivisorUpTo(size, iterations);
  const uint64_t unit = kElementsPerUnit / std::gcd(kElementsPerUnit, inner);
  if (iterations < size && iterations > unit) iterations -= iterations % unit;
  return inner * iterations;
}

Invocation PartOf(const Invocation& call, uint64_t elements) {
  const Plan& whole = call.plan;
  uint64_t inner = 1;
  int outermost = whole.loop_count - 1;
  while (outermost > 0 && inner * whole.sizes[outermost] < elements) {
    inner *= whole.sizes[outermost--];
  }
  Invocation part = call;
  Plan& plan = part.plan;
  plan.loop_count = whole.loop_count - outermost;
  plan.element_count = elements;
  plan.sizes = {};
  plan.strides = {};
  for (int l = 0; l < plan.loop_count; ++l) {
    plan.sizes[l] = whole.sizes[outermost + l];
    for (int t = 0; t < plan.tensor_count; ++t) {
      plan.strides[t][l] = whole.strides[t][outermost + l];
    }
  }
  plan.sizes[0] = elements / inner;
  for (int i = 0; i + 1 < plan.tensor_count; ++i) {
    if (call.payload_index[i] < 0) continue;
    part.input_bytes[i] = ExtentOf(plan, i) * SizeOf(call.inputs[i].data_type);
  }
  part.output_bytes = elements * SizeOf(call.output.data_type);
  return part;
}

uint64_t PlaceOf(const Invocation& call, int input, uint64_t element) {
  uint64_t place = 0;
  for (int l = call.plan.loop_count - 1; l >= 0; --l) {
    place += element % call.plan.sizes[l] * call.plan.strides[input][l];
    element /= call.plan.sizes[l];
  }
  return place;
}

}  // namespace opserve
