// File: client/python/core/arrays.h
//
// Arrays of Python as memory, and results as arrays: NumPy's, and those of everybody who speaks the
// buffer protocol or DLPack. Nothing is copied here. To be used with the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_ARRAYS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_ARRAYS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/python/core/holds.h"
#include "opserve/tensor.h"

namespace opserve::python {

// What an array of Python is made of.
struct ArrayMemory {
  std::byte* data = nullptr;  // of the element whose indices are all 0
  DataType data_type = DataType::kUnknown;
  bool is_bool = false;  // of Python's bool, which is UINT8 here
  bool is_read_only = false;
  std::vector<int64_t> sizes;    // none: a single element
  std::vector<int64_t> strides;  // in bytes, possibly negative
  Hold hold;                     // keeps it
};

// Takes hold of an array's memory. What is no array becomes one of NumPy's. Throws BadArguments,
// which call it `name`, for types that opserve does not have and memory of other devices.
ArrayMemory TakeMemory(nanobind::handle array, const std::string& name);

// Whether elements lie one after the other, the last dimension fastest.
bool IsPacked(const ArrayMemory& memory);

// A copy in packed order.
ArrayMemory CopyPacked(nanobind::handle array, const std::string& name);

// A Python int or float, of no subclass, as an array of one element. Throws BadArguments where the
// type does not have the number.
ArrayMemory NumberAs(nanobind::handle number, DataType data_type, const std::string& name);

// Makes the type known that the arrays below are made upon; once, before them.
void BindResultMemory(nanobind::module_& module);

// A NumPy array in the memory of `tensor`, a result that nobody else looks at: it can be written
// to. `is_single`: of no dimensions.
nanobind::object AsArray(Tensor tensor, bool is_single);

// A writable NumPy array in memory that `hold` keeps.
nanobind::object AsArray(std::byte* data, DataType data_type, const std::vector<size_t>& sizes,
                         Hold hold);

// The element type that NumPy's dtype, or anything that it makes one of, names.
DataType DataTypeOf(nanobind::handle dtype, const std::string& name);

// NumPy's dtype of that type.
nanobind::object DtypeOf(DataType data_type);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_ARRAYS_H_
