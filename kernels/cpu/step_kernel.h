// File: kernels/cpu/step_kernel.h
//
// How a kernel that takes steps of some elements at a time walks over a packed run of any length:
// compiled once, for the loops of all kernels and instruction sets.

#ifndef OPSERVE_KERNELS_CPU_STEP_KERNEL_H_
#define OPSERVE_KERNELS_CPU_STEP_KERNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kernel_table.h"
#include "kernels/invocation.h"

namespace opserve::cpu {

// Most elements that a step takes: the bytes of a vector.
inline constexpr size_t kMaxStepElements = 64;
// Most bytes of an element.
inline constexpr size_t kMaxElementBytes = 8;

// Takes all whole steps from element `begin` on that end by `end`, which is not before it; returns
// the first element that is left. Touches no others. Thread-safe.
using StepLoop = size_t (*)(const std::byte* const* inputs, std::byte* output, size_t begin,
                            size_t end, const AttributeValues& attributes);

// A kernel as its loops, and what its steps take.
struct StepKernel {
  // By how results are written. The former allows an output that is an input of elements of the
  // same size.
  StepLoop cached = nullptr;
  StepLoop streaming = nullptr;
  // Bytes of an element of each input, and of the output; both are powers of two.
  std::array<uint8_t, kMaxInputs> input_sizes = {};
  uint8_t input_count = 0;
  uint8_t output_size = 0;
  // A power of two.
  uint8_t step_elements = 0;
};

// Computes a run as a FlatKernel does.
void RunInSteps(const StepKernel& kernel, const std::byte* const* inputs, std::byte* output,
                size_t count, StoreMode store_mode, const AttributeValues& attributes);

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_STEP_KERNEL_H_
