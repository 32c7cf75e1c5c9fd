#include "client/cli/tensor_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "client/cli/summary.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kFirstValues = 8;

Json FirstValues(const Tensor& packed) {
  Json values = Json::array();
  const uint64_t count = packed.bytes().size() / SizeOf(packed.data_type());
  for (uint64_t i = 0; i < std::min(count, kFirstValues); ++i) {
    values.push_back(ToJson(ElementAt(packed, i)));
  }
  return values;
}

}  // namespace

// Most languages parse these strings as floats.
Json ToJson(const Element& element) {
  const double* number = std::get_if<double>(&element);
  if (number == nullptr) return std::visit([](auto value) { return Json(value); }, element);
  if (std::isnan(*number)) return "NaN";
  if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
  return *number;
}

Json ToJson(const TensorSpec& spec) {
  return {{"data_type", std::string(NameOf(spec.data_type))},
          {"sizes", spec.sizes},
          {"strides", spec.strides},
          {"bytes", ByteSize(spec).value_or(0)}};
}

Json ToJson(const Tensor& tensor) {
  Json json = ToJson(tensor.spec());
  json["first_values"] = FirstValues(tensor.Packed());
  return json;
}

void PrintSpec(const TensorSpec& spec, const Terminal& terminal) {
  terminal.out << terminal.Styled(Style::kBold, ToString(spec)) << ", "
               << ShowBytes(static_cast<double>(ByteSize(spec).value_or(0))) << '\n';
}

void PrintTensor(const Tensor& tensor, const Terminal& terminal) {
  PrintSpec(tensor.spec(), terminal);
  terminal.out << Summarize(tensor) << '\n';
}

}  // namespace opserve::cli
