// File: client/python/core/operation.h
//
// An operator as its generated method knows it, and how Python's values become its attributes.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_OPERATION_H_
#define OPSERVE_CLIENT_PYTHON_CORE_OPERATION_H_

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

#include "opserve/call.h"
#include "opserve/data_type.h"

namespace opserve::python {

// A tensor that an operator takes.
struct OperationInput {
  std::string name;      // DirectML's
  std::string argument;  // of the method
  bool is_one_element = false;
  std::vector<int> same_type;  // numbers of the other inputs that have its data type
  // Numbers of the other inputs that have its data type, but that FLOAT32 goes with their integers.
  std::vector<int> float_of;
  bool is_in_place = false;  // the result may take its place
};

// An attribute that it takes.
struct OperationAttribute {
  std::string name;           // DirectML's
  bool is_data_type = false;  // names the tensors' type, which need not be said
};

// One row of opserve/_operators.py.
struct Operation {
  std::string name;
  std::vector<OperationInput> inputs;
  std::vector<OperationAttribute> attributes;  // in the order of the method's values
  std::vector<int> result_type;  // numbers of the inputs that have the result's data type
};

// Values of `operation`'s attributes. None leaves one out, or stands for `tensor_type` where the
// attribute names that and it is known. Throws BadArguments for what is no
// string, number or sequence of integers.
std::vector<Attribute> AttributesOf(const Operation& operation, const nanobind::tuple& values,
                                    DataType tensor_type);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_OPERATION_H_
