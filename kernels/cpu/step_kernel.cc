#include "kernels/cpu/step_kernel.h"

#include <cstring>

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

// The first element from which on all vectors of the output are aligned, or the step's size if
// there is none.
size_t FirstAligned(const StepKernel& kernel, const std::byte* output, bool& is_aligned) {
  const size_t vector_bytes = size_t{kernel.step_elements} * kernel.output_size;
  const size_t excess = reinterpret_cast<uintptr_t>(output) % vector_bytes;
  is_aligned = excess % kernel.output_size == 0;
  return is_aligned ? (vector_bytes - excess) / kernel.output_size : kernel.step_elements;
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
  // The first and the last step overlap their neighbours instead of leaving a rest.
  kernel.cached(inputs, output, 0, step, attributes);
  bool is_aligned;
  size_t done = FirstAligned(kernel, output, is_aligned);
  if (store_mode == StoreMode::kStreaming && is_aligned) {
    done = kernel.streaming(inputs, output, done, count, attributes);
    hwy::FlushStream();
  } else {
    done = kernel.cached(inputs, output, done, count, attributes);
  }
  if (done < count) kernel.cached(inputs, output, count - step, count, attributes);
}

}  // namespace opserve::cpu
