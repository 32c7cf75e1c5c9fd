#include "client/cli/sequence_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace opserve::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownBytes = 40;

// A value for a message.
std::string Show(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) text.replace(kShownBytes - 3, std::string::npos, "...");
  return text;
}

absl::Status Wrong(absl::string_view path, const Json& json, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(path, " is ", Show(json), ", not ", allowed));
}

// That `json` is an object with no other members than `names`, and with those that are `required`.
absl::Status CheckMembers(const Json& json, const std::string& path,
                          const std::vector<std::string>& names,
                          const std::vector<std::string>& required) {
  if (!json.is_object()) return Wrong(path, json, "an object in {}");
  const std::string prefix = path == "the document" ? "" : path + ".";
  for (const auto& [name, value] : json.items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, name, " is unknown; allowed are ", absl::StrJoin(names, ", ")));
  }
  for (const std::string& name : required) {
    if (!json.contains(name)) return absl::InvalidArgumentError(prefix + name + " is missing");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextOf(const Json& json, const std::string& path,
                                   absl::string_view allowed) {
  if (!json.is_string() || json.get_ref<const std::string&>().empty()) {
    return Wrong(path, json, allowed);
  }
  return json.get<std::string>();
}

absl::Status ParseDimensions(const Json& json, const std::string& path, Dimensions& dimensions) {
  if (!json.is_array() || json.empty()) return Wrong(path, json, "a list such as [2, 3]");
  for (size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_number_unsigned() || json[i].get<uint64_t>() > UINT32_MAX) {
      return Wrong(absl::StrCat(path, "[", i, "]"), json[i], "an integer from 0 to 4294967295");
    }
    dimensions.push_back(json[i].get<uint32_t>());
  }
  return absl::OkStatus();
}

absl::Status ParseType(const Json& json, const std::string& path, DataType& type) {
  absl::StatusOr<std::string> name = TextOf(json, path, "the name of a data type");
  if (!name.ok()) return name.status();
  const std::optional<DataType> found = DataTypeFromName(*name);
  if (!found) return Wrong(path, json, "the name of a data type, such as INT8");
  type = *found;
  return absl::OkStatus();
}

bool IsAxis(const Json& json) {
  return json.is_number_unsigned() && json.get<uint64_t>() <= UINT32_MAX;
}

absl::Status ParseAttributes(const Json& json, const std::string& path,
                             std::vector<Attribute>& attributes) {
  if (!json.is_object()) return Wrong(path, json, "an object such as {\"Name\": \"VALUE\"}");
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) {
      attributes.push_back({name, value.get<std::string>()});
    } else if (value.is_number_float()) {
      attributes.push_back({name, value.get<double>()});
    } else if (value.is_number_integer() &&
               !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)) {
      attributes.push_back({name, value.get<int64_t>()});
    } else if (value.is_number_unsigned()) {
      attributes.push_back({name, value.get<uint64_t>()});
    } else if (value.is_array() && std::all_of(value.begin(), value.end(), IsAxis)) {
      attributes.push_back({name, value.get<Axes>()});
    } else {
      return Wrong(absl::StrCat(path, ".", name), value,
                   "the name of an enum value, an integer of 64 bits, a number, or a list of "
                   "dimensions");
    }
  }
  return absl::OkStatus();
}

// What "step:N" may be in step `number`.
std::string EarlierSteps(size_t number) {
  if (number == 0) return "an earlier step: the first step has none before it";
  if (number == 1) return "an earlier step: here only step:0";
  return absl::StrCat("an earlier step: here step:0 to step:", number - 1);
}

absl::Status ParseSource(const Json& json, const std::string& path, size_t number,
                         InputText& input) {
  absl::StatusOr<std::string> text =
      TextOf(json, path, "\"FILE.npy\", \"tensor:HANDLE\" or \"step:N\"");
  if (!text.ok()) return text.status();
  absl::string_view step = *text;
  if (absl::ConsumePrefix(&step, "step:")) {
    uint32_t index;
    if (!absl::SimpleAtoi(step, &index) || index >= number) {
      return Wrong(path, json, EarlierSteps(number));
    }
    input.step = index;
  }
  input.from = *std::move(text);
  return absl::OkStatus();
}

absl::Status ParseInput(const Json& json, const std::string& path, size_t number,
                        InputText& input) {
  if (!json.is_object()) return ParseSource(json, path, number, input);
  absl::Status status = CheckMembers(json, path, {"from", "name", "sizes", "strides"}, {"from"});
  if (status.ok()) status = ParseSource(json["from"], path + ".from", number, input);
  if (status.ok() && json.contains("name")) {
    absl::StatusOr<std::string> name =
        TextOf(json["name"], path + ".name", "the name of an input of the operator");
    if (!name.ok()) return name.status();
    input.name = *std::move(name);
  }
  if (status.ok() && json.contains("sizes")) {
    status = ParseDimensions(json["sizes"], path + ".sizes", input.sizes);
  }
  if (!status.ok() || !json.contains("strides")) return status;
  if (input.sizes.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ".strides needs sizes beside it"));
  }
  return ParseDimensions(json["strides"], path + ".strides", input.strides);
}

absl::Status ParseInputs(const Json& json, const std::string& path, size_t number,
                         std::vector<InputText>& inputs) {
  if (!json.is_array()) return Wrong(path, json, "a list such as [\"x.npy\", \"step:0\"]");
  for (size_t i = 0; i < json.size(); ++i) {
    absl::Status status =
        ParseInput(json[i], absl::StrCat(path, "[", i, "]"), number, inputs.emplace_back());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ParseOutput(const Json& json, const std::string& path, StepText& step) {
  absl::StatusOr<std::string> text = TextOf(json, path, "\"FILE.npy\" or \"tensor:HANDLE\"");
  if (!text.ok()) return text.status();
  if (absl::StartsWith(*text, "step:")) {
    return Wrong(path, json, "\"FILE.npy\" or \"tensor:HANDLE\"");
  }
  step.output = *std::move(text);
  return absl::OkStatus();
}

absl::StatusOr<StepText> ParseStep(const Json& json, size_t number) {
  const std::string path = absl::StrCat("steps[", number, "]");
  absl::Status status = CheckMembers(
      json, path, {"operator", "attributes", "inputs", "output", "output_strides", "output_type"},
      {"operator", "inputs"});
  if (!status.ok()) return status;
  StepText step;
  absl::StatusOr<std::string> name =
      TextOf(json["operator"], path + ".operator", "the name of an operator");
  if (!name.ok()) return name.status();
  step.operator_name = *std::move(name);
  status = ParseInputs(json["inputs"], path + ".inputs", number, step.inputs);
  if (status.ok() && json.contains("attributes")) {
    status = ParseAttributes(json["attributes"], path + ".attributes", step.attributes);
  }
  if (status.ok() && json.contains("output")) {
    status = ParseOutput(json["output"], path + ".output", step);
  }
  if (status.ok() && json.contains("output_strides")) {
    status = ParseDimensions(json["output_strides"], path + ".output_strides", step.output_strides);
  }
  if (status.ok() && json.contains("output_type")) {
    status = ParseType(json["output_type"], path + ".output_type", step.output_type);
  }
  if (!status.ok()) return status;
  return step;
}

// Deeper than any member of a document. Whoever shows or deletes a value calls itself for each of
// its levels.
constexpr int kMostLevels = 16;

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  bool is_too_deep = false;
  const auto keep = [&is_too_deep](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kMostLevels;
    return depth <= kMostLevels;
  };
  try {
    Json json = Json::parse(text.begin(), text.end(), keep);
    if (!is_too_deep) return json;
    return absl::InvalidArgumentError(
        absl::StrCat("lists and objects are nested more than ", kMostLevels, " deep"));
  } catch (const Json::exception& error) {
    // Without the number that the parser gives its message.
    const absl::string_view what = error.what();
    return absl::InvalidArgumentError(absl::StrCat("no JSON: ", what.substr(what.find(']') + 2)));
  }
}

absl::StatusOr<std::vector<StepText>> ParseSteps(const std::vector<Json>& list) {
  std::vector<StepText> steps;
  for (const Json& json : list) {
    absl::StatusOr<StepText> step = ParseStep(json, steps.size());
    if (!step.ok()) return step.status();
    steps.push_back(*std::move(step));
  }
  return steps;
}

}  // namespace

absl::StatusOr<std::vector<StepText>> ParseSequenceDocument(absl::string_view text) {
  const absl::StatusOr<Json> json = ParseJson(text);
  if (!json.ok()) return json.status();
  absl::Status status = CheckMembers(*json, "the document", {"steps"}, {"steps"});
  if (!status.ok()) return status;
  const Json& steps = (*json)["steps"];
  if (!steps.is_array() || steps.empty()) {
    return Wrong("steps", steps, "a list with at least one step");
  }
  return ParseSteps({steps.begin(), steps.end()});
}

absl::StatusOr<std::vector<StepText>> ParseSequenceSteps(const std::vector<std::string>& texts) {
  std::vector<Json> steps;
  for (const std::string& text : texts) {
    absl::StatusOr<Json> json = ParseJson(text);
    if (!json.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("steps[", steps.size(), "]: ", json.status().message()));
    }
    steps.push_back(*std::move(json));
  }
  return ParseSteps(steps);
}

}  // namespace opserve::cli
