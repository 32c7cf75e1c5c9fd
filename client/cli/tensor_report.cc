#include "client/cli/tensor_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/summary.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kFirstValues = 8;

// Where in memory the element lies that is number `i` in the packed layout. A packed copy may be
// too large to be made: strides of 0 make many elements of few bytes.
uint64_t PlaceOf(const TensorSpec& spec, uint64_t i) {
  if (spec.strides.empty()) return i;
  uint64_t place = 0;
  for (size_t d = spec.sizes.size(); d-- > 0; i /= spec.sizes[d]) {
    place += i % spec.sizes[d] * spec.strides[d];
  }
  return place;
}

Json FirstValues(const Tensor& tensor) {
  Json values = Json::array();
  const uint64_t count = ElementCount(tensor.spec()).value_or(0);
  for (uint64_t i = 0; i < std::min(count, kFirstValues); ++i) {
    values.push_back(ToJson(ElementAt(tensor, PlaceOf(tensor.spec(), i))));
  }
  return values;
}

// Programs that read all numbers as FLOAT64, such as jq, would round integers beyond.
Json ExactJson(uint64_t number) {
  constexpr uint64_t kMostExact = uint64_t{1} << 53;
  return number <= kMostExact ? Json(number) : Json(absl::StrCat(number));
}

Json ExactJson(int64_t number) {
  if (number >= 0) return ExactJson(static_cast<uint64_t>(number));
  constexpr int64_t kLeastExact = -(int64_t{1} << 53);
  return number >= kLeastExact ? Json(number) : Json(absl::StrCat(number));
}

}  // namespace

// Most languages parse these strings as floats.
Json ToJson(const Element& element) {
  const double* number = std::get_if<double>(&element);
  if (number == nullptr) {
    const auto* const integer = std::get_if<int64_t>(&element);
    return integer != nullptr ? ExactJson(*integer) : ExactJson(std::get<uint64_t>(element));
  }
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
  json["first_values"] = FirstValues(tensor);
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
