// File: kernels/cpu/kernel_table.h
//
// The SIMD kernels of all (operator, type, mode) cells, compiled once per instruction set and
// chosen at run time. A kernel computes packed runs of elements; layouts are dealt with in
// tile_walk.h.

#ifndef OPSERVE_KERNELS_CPU_KERNEL_TABLE_H_
#define OPSERVE_KERNELS_CPU_KERNEL_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "kernels/data_type.h"
#include "kernels/invocation.h"

namespace opserve::cpu {

// How results are written.
enum class StoreMode : uint8_t {
  kCached,     // left in the caches
  kStreaming,  // past them to memory
  kInPlace,    // left in the caches; the output may be an input of elements of the same size
};

// Computes output[i] from element i of every input, for i below `count`, at any alignment. Touches
// exactly the `count` elements of each operand. The output overlaps no input, but see StoreMode.
// `attributes` are those of the call. Thread-safe.
using FlatKernel = void (*)(const std::byte* const* inputs, std::byte* output, size_t count,
                            StoreMode store_mode, const AttributeValues& attributes);

// What selects a kernel of an operator.
struct KernelVariant {
  // The type of the operator's lane tensor, and of its output.
  DataType lane = DataType::kUnknown;
  DataType output = DataType::kUnknown;
  // The number of its first enum attribute; 0 where it has none.
  int mode = 0;
  // The type of its first number that has a type of its own; kUnknown where it has none such.
  DataType number = DataType::kUnknown;
};

// The kernel for the best instruction set of this host; nullptr where the operator does not take
// such types at any feature level or has no such mode.
FlatKernel GetKernel(OpId op, const KernelVariant& variant);

// The kernel of one input that replaces its elements by x * Scale + Bias, in the type that they
// have; the attributes are these two. nullptr for types of 64 bits.
FlatKernel GetScaleBiasKernel(DataType type);

// The kernel of one input that gives its elements as FLOAT64. nullptr for types of 64 bits.
FlatKernel GetWideningKernel(DataType type);

}  // namespace opserve::cpu

#endif  // OPSERVE_KERNELS_CPU_KERNEL_TABLE_H_
