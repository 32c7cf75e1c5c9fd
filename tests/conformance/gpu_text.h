// File: tests/conformance/gpu_text.h
//
// What GPU kernels of elementary functions and activations compute, by the text that they are
// compiled from: it is C++ as well as HLSL. The processor so tries in minutes what takes a software
// adapter hours.

#ifndef OPSERVE_TESTS_CONFORMANCE_GPU_TEXT_H_
#define OPSERVE_TESTS_CONFORMANCE_GPU_TEXT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/data_type.h"
#include "kernels/invocation.h"
#include "kernels/op_table.h"

namespace opserve::testing {

// One result.
struct GpuElement {
  // Its encoding, in the low bits.
  uint32_t bits = 0;
  // Whether the kernel leaves the element open: then the bits are not to be used.
  bool is_open = false;
};

// The element of the result for elements of up to two inputs, each an encoding, and the attributes
// of the call. Thread-safe.
using GpuBody = GpuElement (*)(uint32_t x, uint32_t y, const AttributeValues& attributes);

// The body of a GPU kernel of FLOAT32 or FLOAT16; nullptr where the operator has none, or is no
// elementary function and no activation.
GpuBody GpuBodyOf(OpId op, DataType lane);

// An element of the result of ELEMENT_WISE_POW of FLOAT32 or FLOAT16, whose exponents have a type
// of their own.
GpuElement GpuPower(DataType lane, uint32_t x, DataType exponent, uint32_t y);

// The elements of the result for a row of SOFTMAX or LOG_SOFTMAX, of which each is an encoding, in
// FLOAT32 or FLOAT16; nothing for other operators.
std::vector<GpuElement> GpuRowOf(OpId op, DataType lane, std::span<const uint32_t> row);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_GPU_TEXT_H_
