// File: tests/conformance/call_cases.h
//
// Calls of every operator in every type and layout, made from the operator table; and the check of
// a result against the reference.

#ifndef OPSERVE_TESTS_CONFORMANCE_CALL_CASES_H_
#define OPSERVE_TESTS_CONFORMANCE_CALL_CASES_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/kernel_table.h"
#include "kernels/invocation.h"
#include "tests/conformance/buffers.h"

namespace opserve::testing {

// An operator in one type, with results in one; has a kernel per mode, and settings of attributes
// (kernels/attribute_settings.h) of which the first are those of the modes.
struct Cell {
  const OpTraits* op = nullptr;
  DataType lane = DataType::kUnknown;
  DataType output = DataType::kUnknown;

  int mode_count() const;
  int setting_count() const;
  // What selects the kernel of a mode.
  cpu::KernelVariant variant(int mode) const { return {lane, output, mode}; }
  // "ELEMENT_WISE_ROUND_FLOAT16", "ELEMENT_WISE_IS_NAN_FLOAT16_UINT32"
  std::string name() const;
};

// Lets GoogleTest print cells.
void PrintTo(const Cell& cell, std::ostream* out);

// All cells of the operator table whose elements are computed each by itself.
std::vector<Cell> AllCells();

// Whether calls of the operator can be packed: no input has a single element for all of the others.
bool CanBePacked(const OpTraits& op);

// Those of operators whose calls can be packed.
std::vector<Cell> PackableCells();

// The sizes of input `i` of an operator where other tensors have `sizes`.
std::vector<uint32_t> SizesOfInput(const OpTraits& op, int i, const std::vector<uint32_t>& sizes);

// A way to lay out the tensors of a call.
struct Layout {
  const char* name;
  std::vector<uint32_t> sizes;
  // Strides of three inputs, which further inputs take in turn, and of the output; empty where
  // packed.
  std::vector<std::vector<uint32_t>> strides;

  const std::vector<uint32_t>& strides_of_input(int i) const {
    return strides[static_cast<size_t>(i) % 3];
  }
  const std::vector<uint32_t>& strides_of_output() const { return strides[3]; }
};

// Layouts with `count` elements or a few more: packed, strided, broadcast, transposed, padded, 8-D.
std::vector<Layout> LayoutsOf(uint32_t count);

// The packed layout.
Layout Packed(uint32_t count);

// A validated call. Fails the test and returns nullptr if validation refuses it.
std::shared_ptr<const Invocation> MakeCall(const Cell& cell, int setting, const Layout& layout);

// Inputs for a call: special values, random bits and small numbers, mixed; empty where absent.
std::vector<GuardedInput> MakeInputs(const Invocation& call, std::mt19937_64& random);

// Pointers to inputs, as executors take them.
std::vector<const std::byte*> PointersTo(const std::vector<GuardedInput>& inputs);

// The output that the reference computes.
std::vector<std::byte> ReferenceOutput(const Invocation& call,
                                       const std::vector<const std::byte*>& inputs);

// The bits of an element of `size` bytes.
uint64_t ReadBits(const std::byte* from, size_t size);

// Whether the bits of an element of a result are those `expected`, or a quiet NaN for a NaN where
// the operator computes.
bool IsRight(const Invocation& call, uint64_t expected, uint64_t actual);

// Empty if all of `actual` is right. Otherwise tells the first difference.
std::string Difference(const Invocation& call, const std::byte* expected, const std::byte* actual);

// Empty if two runs gave tensors like `output` that are equal, but for which NaN is where one was
// computed.
std::string DifferenceOfRuns(const TensorDesc& output, const std::byte* expected,
                             const std::byte* actual);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_CALL_CASES_H_
