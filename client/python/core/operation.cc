#include "client/python/core/operation.h"

#include <nanobind/stl/string.h>

#include "absl/strings/str_cat.h"
#include "client/python/core/errors.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

// Integers of any type that Python can index with, such as NumPy's.
bool ReadInteger(nb::handle value, Attribute& attribute) {
  if (!PyIndex_Check(value.ptr())) return false;
  const nb::object integer = nb::steal(PyNumber_Index(value.ptr()));
  if (!integer.is_valid()) {
    PyErr_Clear();
    return false;
  }
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow == 0) {
    attribute.value = number;
    return true;
  }
  const uint64_t large = PyLong_AsUnsignedLongLong(integer.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw BadArguments(attribute.name,
                       absl::StrCat(nb::repr(integer).c_str(), " needs more than 64 bits"));
  }
  attribute.value = large;
  return true;
}

bool ReadFloat(nb::handle value, Attribute& attribute) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  attribute.value = number;
  return true;
}

bool ReadAxes(nb::handle value, Attribute& attribute) {
  // NumPy's arrays of no dimensions call themselves sequences, and have no size.
  if (!PySequence_Check(value.ptr()) || PySequence_Size(value.ptr()) < 0) {
    PyErr_Clear();
    return false;
  }
  Axes axes;
  for (const nb::handle axis : nb::borrow<nb::object>(value)) {
    Attribute one = {attribute.name, int64_t{0}};
    if (!ReadInteger(axis, one) || !std::holds_alternative<int64_t>(one.value)) return false;
    axes.push_back(std::get<int64_t>(one.value));
  }
  attribute.value = std::move(axes);
  return true;
}

Attribute AttributeOf(const std::string& name, nb::handle value) {
  Attribute attribute = {name, int64_t{0}};
  if (nb::isinstance<nb::str>(value)) {
    attribute.value = nb::cast<std::string>(value);
    return attribute;
  }
  if (ReadAxes(value, attribute) || ReadInteger(value, attribute) || ReadFloat(value, attribute)) {
    return attribute;
  }
  throw BadArguments(
      name, absl::StrCat(nb::repr(value).c_str(), " is no string, number or sequence of integers"));
}

}  // namespace

std::vector<Attribute> AttributesOf(const Operation& operation, const nb::tuple& values,
                                    DataType tensor_type) {
  std::vector<Attribute> attributes;
  for (size_t i = 0; i < operation.attributes.size(); ++i) {
    const auto& [name, is_data_type] = operation.attributes[i];
    const nb::handle value = values[i];
    if (!value.is_none()) {
      attributes.push_back(AttributeOf(name, value));
    } else if (is_data_type && tensor_type != DataType::kUnknown) {
      attributes.push_back({name, std::string(NameOf(tensor_type))});
    }
  }
  return attributes;
}

}  // namespace opserve::python
