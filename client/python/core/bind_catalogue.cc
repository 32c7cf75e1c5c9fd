#include "client/python/core/bind_catalogue.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "opserve/catalogue.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

std::vector<std::string> NamesOf(const std::vector<DataType>& types) {
  std::vector<std::string> names;
  for (const DataType type : types) names.emplace_back(NameOf(type));
  return names;
}

}  // namespace

void BindCatalogue(nb::module_& module) {
  nb::class_<TensorInfo>(module, "OperatorTensor", "A tensor of an operator.")
      .def_ro("name", &TensorInfo::name, "DirectML's.")
      .def_ro("optional", &TensorInfo::optional)
      .def_ro("one_element", &TensorInfo::one_element,
              "Whether it has one element, which goes with all of the others.");
  nb::class_<EnumValueInfo>(module, "EnumValue", "One of an attribute's values.")
      .def_ro("name", &EnumValueInfo::name, "Without DirectML's prefix.")
      .def_ro("number", &EnumValueInfo::number)
      .def_ro("meaning", &EnumValueInfo::meaning);
  nb::class_<AttributeInfo>(module, "OperatorAttribute", "An attribute of an operator.")
      .def_ro("name", &AttributeInfo::name, "DirectML's.")
      .def_prop_ro(
          "kind",
          [](const AttributeInfo& attribute) { return std::string(NameOf(attribute.value_kind)); },
          "\"enum\", \"int\", \"float\", \"data_type\", \"scalar\", \"activation\" or \"axes\".")
      .def_ro("optional", &AttributeInfo::optional)
      .def_ro("values", &AttributeInfo::values, "Of an enum.");
  nb::class_<TensorSupport>(module, "TensorSupport", "What one tensor may be.")
      .def_ro("name", &TensorSupport::name)
      .def_ro("min_dimension_count", &TensorSupport::min_dimension_count)
      .def_ro("max_dimension_count", &TensorSupport::max_dimension_count)
      .def_prop_ro(
          "data_types", [](const TensorSupport& tensor) { return NamesOf(tensor.data_types); },
          "Such as \"FLOAT32\".");
  nb::class_<SupportInfo>(module, "Support", "What an operator takes from a feature level on.")
      .def_ro("feature_level", &SupportInfo::feature_level)
      .def_ro("tensors", &SupportInfo::tensors, "Inputs first, then the output.");
  nb::class_<OperatorInfo>(module, "OperatorInfo", "An operator, as the server describes it.")
      .def_ro("name", &OperatorInfo::name, "DirectML's, such as \"ELEMENT_WISE_ROUND\".")
      .def_ro("family", &OperatorInfo::family)
      .def_ro("summary", &OperatorInfo::summary)
      .def_ro("formula", &OperatorInfo::formula)
      .def_ro("introduced", &OperatorInfo::introduced, "The first feature level that has it.")
      .def_ro("inputs", &OperatorInfo::inputs)
      .def_ro("output", &OperatorInfo::output)
      .def_ro("attributes", &OperatorInfo::attributes)
      .def_ro("in_place", &OperatorInfo::in_place, "Inputs whose place the result may take.")
      .def_ro("support", &OperatorInfo::support, "By feature level, the lowest first.")
      .def_ro("max_ulp", &OperatorInfo::max_ulp, "Largest error; 0: exact to the bit.");
}

}  // namespace opserve::python
