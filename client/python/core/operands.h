// File: client/python/core/operands.h
//
// The tensors of a call: arrays, numbers and tensors at the server, broadcast as NumPy does it, by
// strides of 0. Elements are copied only where they cannot be sent as they lie. To be used with the
// GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_OPERANDS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_OPERANDS_H_

#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/python/core/arrays.h"
#include "client/python/core/holds.h"
#include "client/python/core/operation.h"
#include "client/python/core/regions.h"
#include "opserve/place.h"
#include "opserve/tensor.h"

namespace opserve::python {

// The result of a step of a sequence that is written down.
struct StepValue {
  uint64_t sequence = 0;  // the number of its sequence
  uint32_t step = 0;
  DataType data_type = DataType::kUnknown;  // kUnknown: the server decides
  std::vector<uint32_t> sizes;
  bool is_single = false;
};

// Sizes that go with all of `shapes`. Throws BadArguments, which name the arguments, where there
// are none.
struct NamedSizes {
  std::string name;
  std::vector<uint32_t> sizes;
};
std::vector<uint32_t> BroadcastSizes(const std::vector<NamedSizes>& shapes);

// Strides of elements with `sizes` and `strides` when they are repeated to `target`; none where
// that is the packed layout.
std::vector<uint32_t> BroadcastStrides(const std::vector<uint32_t>& sizes,
                                       const std::vector<uint32_t>& strides,
                                       const std::vector<uint32_t>& target);

// Where a tensor is, and how its elements lie.
struct Operand {
  nanobind::handle object;                  // that it was made of, which `hold` keeps
  DataType data_type = DataType::kUnknown;  // kUnknown: the server knows
  std::vector<uint32_t> sizes;              // {1} where it has no dimensions
  std::vector<uint32_t> strides;            // in elements, one per size
  std::span<std::byte> bytes;               // from the first to the last element
  std::optional<TensorPlace> place;
  std::optional<StepValue> value;  // where it is a result of a sequence that is written down
  bool is_single = false;          // of no dimensions
  bool is_in_place = false;        // the call's result may take its place
  Hold hold;
  // How the call sees its elements: as often as it needs them. No strides: packed.
  std::vector<uint32_t> view_sizes;
  std::vector<uint32_t> view_strides;
  std::string view_name;  // DirectML's, where the call needs it

  // The strides that the server is told of the operand itself; none where it is packed.
  std::vector<uint32_t> OwnStrides() const { return BroadcastStrides(sizes, strides, sizes); }
  // As the input of a call.
  TensorView View() const;
};

// An array, a tensor at the server, or a value of a sequence. Copies what would travel with more
// than twice its bytes, or cannot be said in strides.
Operand MakeOperand(nanobind::handle object, const std::string& name, const Regions& regions);

// The sizes of an array as the wire has them. Throws BadArguments where they are too large.
std::vector<uint32_t> WireSizes(const ArrayMemory& memory, const std::string& name);

// Whether it is a number without a type of its own: Python's int or float, of no subclass.
bool IsPlainNumber(nanobind::handle object);

// Inputs of a call.
struct OperandList {
  std::vector<Operand> operands;
  std::vector<uint32_t> sizes;  // of the result
  bool is_single = false;       // whether the result has no dimensions
  // Of the first input, and of the result as far as an input says it.
  DataType first_type = DataType::kUnknown;
  DataType result_type = DataType::kUnknown;
};
// None leaves an optional input out.
OperandList MakeOperands(const Operation& operation, const nanobind::tuple& inputs,
                         const Regions& regions);

// Where a result goes that is not to be a new array.
struct ResultTarget {
  TensorSpec spec;
  std::span<std::byte> bytes;  // where there is no place
  std::optional<TensorPlace> place;
  Hold hold;
};
// Throws BadArguments where `out` is no packed, writable array, and no tensor at the server.
ResultTarget MakeTarget(nanobind::handle out, const Regions& regions);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_OPERANDS_H_
