#include "kernels/cpu/step_kernel.h"

#include <cstring>
#include <optional>

#include "hwy/cache_control.h"

namespace opserve::cpu {
namespace {

// Less than a step, from element `first` on: through buffers of a step's size.
void RunShort(const StepKernel& kernel, const std::byte* const* inputs, std::byte* output,
              size_t first, size_t count, const AttributeValues& attributes) {
  constexpr size_t kMaxBytes = kMaxStepElements * kMaxElementBytes;
  alignas(64) std::byte in[kMaxInputs][kMaxBytes];
  alignas(64) std::byte out[kMaxBytes];
  const std::byte* pointers[kMaxInputs];
  for (size_t k = 0; k < kernel.input_count; ++k) {
    const size_t size = kernel.input_sizes[k];
    std::memcpy(in[k], inputs[k] + first * size, count * size);
    std::memset(in[k] + count * size, 0, (kernel.step_elements - count) * size);
    pointers[k] = in[k];
  }
  kernel.cached(pointers, out, 0, kernel.step_elements, attributes);
  std::memcpy(output + first * kernel.output_size, out, count * kernel.output_size);
}

// How many elements are before the first one from which on all vectors of the output are aligned,
// less than a step has; nothing if there is none.
std::optional<size_t> ElementsBeforeAligned(const StepKernel& kernel, const std::byte* output) {
  const size_t vector_bytes = size_t{kernel.step_elements} * kernel.output_size;
  // Both are powers of two.
  const size_t missing = -reinterpret_cast<uintptr_t>(output) & (vector_bytes - 1);
  if (missing == 0) return 0;
  if ((missing & (kernel.output_size - 1)) != 0) return std::nullopt;
  return missing / kernel.output_size;
}

}  // namespace

void RunInSteps(const StepKernel& kernel, const std::byte* const* inputs, std::byte* output,
                size_t count, StoreMode store_mode, const AttributeValues& attributes) {
  const size_t step = kernel.step_elements;
  if (count < step) return RunShort(kernel, inputs, output, 0, count, attributes);
  if (store_mode == StoreMode::kInPlace) {
    // Never looks at an input whose result is there already.
    const size_t done = kernel.cached(inputs, output, 0, count, attributes);
    if (done < count) RunShort(kernel, inputs, output, done, count - done, attributes);
    return;
  }
  // The first step, where it is needed, and the last one overlap their neighbours instead of
  // leaving a rest.
  const std::optional<size_t> unaligned = ElementsBeforeAligned(kernel, output);
  size_t done = unaligned.value_or(0);
  if (done != 0) kernel.cached(inputs, output, 0, step, attributes);
  if (store_mode == StoreMode::kStreaming && unaligned) {
    done = kernel.streaming(inputs, output, done, count, attributes);
    hwy::FlushStream();
  } else {
    done = kernel.cached(inputs, output, done, count, attributes);
  }
  if (done < count) kernel.cached(inputs, output, count - step, count, attributes);
}

}  // namespace opserve::cpu
