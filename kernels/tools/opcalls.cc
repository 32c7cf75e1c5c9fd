// Writes client/include/opserve/ops.h, a function for the call of each operator, from the operator
// table.
//
//   opcalls                print the header
//   opcalls --check FILE   compare the header with FILE; exit code 1 if they differ

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/op_table.h"
#include "kernels/tools/written_file.h"

namespace opserve {
namespace {

constexpr size_t kWidth = 100;

constexpr char kHead[] = R"(// File: opserve/ops.h
//
// The call of each operator as a function with typed attributes, and the operators' names. Made
// from the operator table by `make ops`; do not edit.
//
//   auto y = client->Execute(ops::Round(x, RoundingMode::kTowardZero));
//
// A function checks nothing; the server does. What is neither a tensor nor an attribute, such as
// the device, is a member of the call that it returns. The views of tensors must stay valid as
// those of any call. Everything here is stateless and safe to use from any thread.

#ifndef OPSERVE_OPS_H_
#define OPSERVE_OPS_H_

// clang-format off
)";

constexpr absl::string_view kStandardHeaders[] = {"cstdint",     "optional", "string",
                                                  "type_traits", "utility",  "vector"};
constexpr absl::string_view kOwnHeaders[] = {"absl/strings/string_view.h", "opserve/call.h",
                                             "opserve/tensor.h"};

constexpr char kTypes[] = R"(
namespace ops {

// Each element x of the first input is replaced by x * scale + bias, in its own type, first.
struct ScaleBias {
  float scale = 1;
  float bias = 0;
};

// An activation that is computed of each rounded result; the functions Fused... make one.
struct FusedActivation {
  std::vector<Attribute> attributes = {};
};

namespace internal {

// A number in the type of the tensors.
template <TensorElement T>
Attribute ScalarOf(const char* name, T value) {
  if constexpr (!std::is_integral_v<T>) {
    return {name, static_cast<double>(value)};
  } else if constexpr (std::is_signed_v<T>) {
    return {name, static_cast<int64_t>(value)};
  } else {
    return {name, static_cast<uint64_t>(value)};
  }
}

template <>
inline Attribute ScalarOf<Half>(const char* name, Half value) {
  return {name, double{static_cast<float>(value)}};
}

inline TensorView Named(const char* name, TensorView tensor) {
  tensor.set_name(name);
  return tensor;
}

inline void Add(const char* name, const std::optional<TensorView>& tensor, OperatorCall& call) {
  if (tensor) call.inputs.push_back(Named(name, *tensor));
}

inline void Add(const std::optional<ScaleBias>& scale_bias, OperatorCall& call) {
  if (!scale_bias) return;
  call.attributes.push_back({"ScaleBias.Scale", double{scale_bias->scale}});
  call.attributes.push_back({"ScaleBias.Bias", double{scale_bias->bias}});
}

inline void Add(const std::optional<FusedActivation>& activation, OperatorCall& call) {
  if (!activation) return;
  call.attributes.insert(call.attributes.end(), activation->attributes.begin(),
                         activation->attributes.end());
}

}  // namespace internal
)";

constexpr char kTail[] = R"(
}  // namespace ops
}  // namespace opserve

// clang-format on

#endif  // OPSERVE_OPS_H_
)";

// ELEMENT_WISE_ROUND: ElementWiseRound.
std::string Pascal(absl::string_view name) {
  std::string text;
  for (const absl::string_view word : absl::StrSplit(name, '_')) {
    absl::StrAppend(&text, word.substr(0, 1), absl::AsciiStrToLower(word.substr(1)));
  }
  return text;
}

// AZeroPointTensor: a_zero_point; MinMaxDataType: min_max_data_type.
std::string Snake(absl::string_view name) {
  name = absl::StripSuffix(name, "Tensor");
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && absl::ascii_isupper(static_cast<unsigned char>(name[i]))) text += '_';
    text += absl::ascii_tolower(static_cast<unsigned char>(name[i]));
  }
  return text;
}

std::string ConstantOf(const OpTraits& op) { return "k" + Pascal(op.name); }

std::string FunctionOf(const OpTraits& op) {
  return Pascal(absl::StripPrefix(op.name, "ELEMENT_WISE_"));
}

bool HasScalars(const OpTraits& op) {
  return std::ranges::any_of(op.attributes, [](const AttributeTraits& attribute) {
    return attribute.kind == AttributeKind::kScalar;
  });
}

bool HasOptionalTensors(const OpTraits& op) {
  return std::ranges::any_of(op.inputs, &TensorTraits::optional);
}

// The type of an attribute's parameter; empty where others tell it.
std::string TypeOf(const AttributeTraits& attribute) {
  switch (attribute.kind) {
    case AttributeKind::kEnum:
      return std::string(attribute.name);
    case AttributeKind::kInt:
      return "int64_t";
    case AttributeKind::kFloat:
      return "float";
    case AttributeKind::kScalar:
      return "T";
    case AttributeKind::kAxes:
      return "const Axes&";
    case AttributeKind::kDataType:
    case AttributeKind::kActivation:
      break;
  }
  return "";
}

// The expression of an attribute.
std::string AttributeOf(const AttributeTraits& attribute, absl::string_view sent_name) {
  const std::string name = Snake(attribute.name);
  switch (attribute.kind) {
    case AttributeKind::kEnum:
      return absl::StrCat("{\"", sent_name, "\", static_cast<int64_t>(", name, ")}");
    case AttributeKind::kFloat:
      return absl::StrCat("{\"", sent_name, "\", double{", name, "}}");
    case AttributeKind::kScalar:
      return absl::StrCat("internal::ScalarOf(\"", sent_name, "\", ", name, ")");
    case AttributeKind::kDataType:
      return absl::StrCat("{\"", sent_name, "\", std::string(NameOf(kDataTypeOf<T>))}");
    case AttributeKind::kInt:
    case AttributeKind::kAxes:
    case AttributeKind::kActivation:
      break;
  }
  return absl::StrCat("{\"", sent_name, "\", ", name, "}");
}

// `start` and the items, separated by commas, below one another where they do not fit on a line.
std::string List(const std::string& start, const std::vector<std::string>& items,
                 absl::string_view end) {
  std::string line = absl::StrCat(start, absl::StrJoin(items, ", "), end);
  // The end has a line break.
  if (line.size() <= kWidth + 1) return line;
  return absl::StrCat(start, absl::StrJoin(items, ",\n" + std::string(start.size(), ' ')), end);
}

// A comment of any length.
std::string Comment(absl::string_view text) {
  std::string comment = "//";
  size_t column = comment.size();
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (column + 1 + word.size() > kWidth) {
      absl::StrAppend(&comment, "\n//");
      column = 2;
    }
    absl::StrAppend(&comment, " ", word);
    column += 1 + word.size();
  }
  return comment + "\n";
}

// The types of all enum attributes, each once.
std::string Enums() {
  std::string text;
  std::vector<absl::string_view> done;
  for (const OpTraits& op : OpTable()) {
    for (const AttributeTraits& attribute : op.attributes) {
      if (attribute.kind != AttributeKind::kEnum ||
          std::ranges::find(done, attribute.name) != done.end()) {
        continue;
      }
      done.push_back(attribute.name);
      absl::StrAppend(&text, "\nenum class ", attribute.name, " : int32_t {\n");
      for (const EnumValue& value : attribute.values) {
        absl::StrAppend(&text, "  k", Pascal(value.name), " = ", value.number, ",  // ",
                        value.meaning, "\n");
      }
      absl::StrAppend(&text, "};\n");
    }
  }
  return text;
}

std::vector<std::string> ParametersOf(const OpTraits& op) {
  std::vector<std::string> parameters;
  for (const TensorTraits& input : op.inputs) {
    if (!input.optional) parameters.push_back("const TensorView& " + Snake(input.name));
  }
  for (const AttributeTraits& attribute : op.attributes) {
    const std::string type = TypeOf(attribute);
    if (!type.empty()) parameters.push_back(absl::StrCat(type, " ", Snake(attribute.name)));
  }
  for (const TensorTraits& input : op.inputs) {
    if (!input.optional) continue;
    parameters.push_back(
        absl::StrCat("const std::optional<TensorView>& ", Snake(input.name), " = {}"));
  }
  if (op.takes_scale_bias) {
    parameters.emplace_back("const std::optional<ScaleBias>& scale_bias = {}");
  }
  if (op.takes_fused_activation) {
    parameters.emplace_back("const std::optional<FusedActivation>& fused_activation = {}");
  }
  return parameters;
}

// The statements that add what may be left out.
std::string OptionalParts(const OpTraits& op) {
  std::string text;
  for (const TensorTraits& input : op.inputs) {
    if (!input.optional) continue;
    absl::StrAppend(&text, "  internal::Add(\"", input.name, "\", ", Snake(input.name),
                    ", call);\n");
  }
  if (op.takes_scale_bias) text += "  internal::Add(scale_bias, call);\n";
  if (op.takes_fused_activation) text += "  internal::Add(fused_activation, call);\n";
  return text;
}

std::string Function(const OpTraits& op) {
  std::vector<std::string> inputs;
  for (const TensorTraits& input : op.inputs) {
    if (input.optional) continue;
    inputs.push_back(HasOptionalTensors(op) ? absl::StrCat("internal::Named(\"", input.name, "\", ",
                                                           Snake(input.name), ")")
                                            : Snake(input.name));
  }
  std::vector<std::string> attributes;
  for (const AttributeTraits& attribute : op.attributes) {
    attributes.push_back(AttributeOf(attribute, attribute.name));
  }
  const std::string optional_parts = OptionalParts(op);
  std::string text = absl::StrCat(
      "\n", Comment(absl::StrCat(op.summary, ": ", op.formula, ".")),
      HasScalars(op) ? "template <TensorElement T>\n" : "",
      List(absl::StrCat(HasScalars(op) ? "" : "inline ", "OperatorCall ", FunctionOf(op), "("),
           ParametersOf(op), ") {\n"));
  absl::StrAppend(&text, optional_parts.empty() ? "  return {" : "  OperatorCall call = {",
                  ".operator_name = ", ConstantOf(op), ",\n");
  const std::string indent = optional_parts.empty() ? "          " : "                       ";
  absl::StrAppend(&text, List(indent + ".attributes = {", attributes, "},\n"));
  absl::StrAppend(&text, List(indent + ".inputs = {", inputs, "}};\n"));
  if (!optional_parts.empty()) absl::StrAppend(&text, optional_parts, "  return call;\n");
  return text + "}\n";
}

// What makes the operator an activation of others.
std::string FusedFunction(const OpTraits& op) {
  std::vector<std::string> parameters;
  std::vector<std::string> attributes = {
      absl::StrCat("{\"", kFusedActivation, "\", ", ConstantOf(op), "}")};
  for (const AttributeTraits& attribute : op.attributes) {
    parameters.push_back(absl::StrCat("float ", Snake(attribute.name)));
    attributes.push_back(AttributeOf(attribute, FusedNameOf(attribute.name)));
  }
  const absl::string_view name = absl::StripPrefix(op.name, "ACTIVATION_");
  return absl::StrCat(
      "\n",
      List(absl::StrCat("inline FusedActivation Fused", Pascal(name), "("), parameters, ") {\n"),
      List("  return {{", attributes, "}};\n"), "}\n");
}

// What the header includes.
std::string Includes() {
  std::string text = "\n";
  for (const absl::string_view name : kStandardHeaders) {
    absl::StrAppend(&text, "#include <", name, ">\n");
  }
  text += "\n";
  for (const absl::string_view name : kOwnHeaders) {
    absl::StrAppend(&text, "#include \"", name, "\"\n");
  }
  return text;
}

std::string Header() {
  std::string header = absl::StrCat(kHead, Includes(), "\nnamespace opserve {\n", Enums(), kTypes,
                                    "\n// The operators' names.\n");
  for (const OpTraits& op : OpTable()) {
    absl::StrAppend(&header, "inline constexpr char ", ConstantOf(op), "[] = \"", op.name, "\";\n");
  }
  for (const OpTraits& op : OpTable()) absl::StrAppend(&header, Function(op));
  for (const OpTraits& op : OpTable()) {
    if (op.is_fusable) absl::StrAppend(&header, FusedFunction(op));
  }
  return header + kTail;
}

}  // namespace
}  // namespace opserve

int main(int argc, char** argv) {
  return opserve::PrintOrCheck(argc, argv, "opcalls", "ops", opserve::Header());
}
