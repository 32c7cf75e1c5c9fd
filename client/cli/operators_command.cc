// The verb operators: the catalogue as a table, or one operator in full.

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/calls.h"
#include "client/cli/catalogue_json.h"
#include "client/cli/cell_lines.h"
#include "client/cli/commands.h"
#include "client/cli/report.h"

namespace opserve::cli {
namespace {

std::string NamesOf(const std::vector<DataType>& types) {
  return absl::StrJoin(
      types, " ", [](std::string* text, DataType type) { absl::StrAppend(text, NameOf(type)); });
}

std::string DimensionsOf(const TensorSupport& tensor) {
  if (tensor.min_dimension_count == tensor.max_dimension_count) {
    return absl::StrCat(tensor.min_dimension_count);
  }
  return absl::StrCat(tensor.min_dimension_count, " to ", tensor.max_dimension_count);
}

// The text that a search looks at.
std::string SearchedText(const OperatorInfo& op) {
  return absl::AsciiStrToLower(
      absl::StrCat(op.name, "\n", op.family, "\n", op.summary, "\n", op.formula));
}

void KeepFound(const std::string& text, std::vector<OperatorInfo>& operators) {
  const std::string lower = absl::AsciiStrToLower(text);
  std::erase_if(operators, [&](const OperatorInfo& op) {
    return !absl::StrContains(SearchedText(op), lower);
  });
}

// Lists the operators at the beginning that are of one family; returns how many these are.
size_t PrintFamily(std::span<const OperatorInfo> operators, const Terminal& terminal) {
  const std::string& family = operators.front().family;
  Table table({"operator", "since", "summary"});
  size_t count = 0;
  for (; count < operators.size() && operators[count].family == family; ++count) {
    const OperatorInfo& op = operators[count];
    table.AddRow({op.name, op.introduced, op.summary});
  }
  // Older servers do not tell families.
  if (!family.empty()) terminal.out << terminal.Styled(Style::kBold, family) << '\n';
  table.Print(terminal);
  return count;
}

void PrintList(std::span<const OperatorInfo> operators, const Terminal& terminal) {
  while (!operators.empty()) {
    operators = operators.subspan(PrintFamily(operators, terminal));
    if (!operators.empty()) terminal.out << '\n';
  }
}

void PrintAttributes(const OperatorInfo& op, const Terminal& terminal) {
  if (op.attributes.empty()) return;
  terminal.out << '\n';
  Table table({"attribute", "value", "number", "meaning"});
  for (const AttributeInfo& attribute : op.attributes) {
    const std::string name = absl::StrCat(attribute.name, attribute.optional ? " (optional)" : "");
    if (attribute.values.empty())
      table.AddRow({name, std::string(NameOf(attribute.value_kind)), "", ""});
    for (const EnumValueInfo& value : attribute.values) {
      table.AddRow({&value == &attribute.values.front() ? name : "", value.name,
                    absl::StrCat(value.number), value.meaning});
    }
  }
  table.Print(terminal);
}

void PrintSupport(const OperatorInfo& op, const Terminal& terminal) {
  terminal.out << '\n';
  Table table({"since", "tensor", "dimensions", "types"});
  for (const SupportInfo& row : op.support) {
    for (const TensorSupport& tensor : row.tensors) {
      table.AddRow({&tensor == &row.tensors.front() ? row.feature_level : "", tensor.name,
                    DimensionsOf(tensor), NamesOf(tensor.data_types)});
    }
  }
  table.Print(terminal);
}

void PrintDevices(const OperatorInfo& op, const Terminal& terminal) {
  // Older servers do not tell.
  if (op.devices.empty()) return;
  terminal.out << '\n';
  Table table({"device", "by the type of", "runs"});
  for (const OperatorDevice& device : op.devices) {
    table.AddRow({device.device, device.tensor,
                  device.data_types.empty() ? "nothing" : NamesOf(device.data_types)});
  }
  table.Print(terminal);
}

// A line that goes on below, indented, where it is longer than a terminal is wide.
void PrintLine(absl::string_view text, const Terminal& terminal) {
  constexpr size_t kWidth = 76;
  const char* indent = "";
  for (const std::string& line : LinesOfCell(text, kWidth)) {
    terminal.out << indent << line << '\n';
    indent = "    ";
  }
}

void PrintNames(absl::string_view title, const std::vector<std::string>& names,
                const Terminal& terminal) {
  PrintLine(absl::StrCat(title, ": ", absl::StrJoin(names, ", ")), terminal);
}

void PrintOperator(const OperatorInfo& op, const Terminal& terminal) {
  terminal.out << terminal.Styled(Style::kBold, op.name) << ", since feature level "
               << op.introduced << '\n';
  PrintLine(absl::StrCat(op.summary, "."), terminal);
  PrintLine(absl::StrCat("  ", op.formula), terminal);
  terminal.out << (op.max_ulp == 0 ? "Exact to the bit."
                                   : absl::StrCat("Within ", op.max_ulp, " ULP."))
               << '\n';
  PrintAttributes(op, terminal);
  PrintSupport(op, terminal);
  PrintDevices(op, terminal);
  terminal.out << '\n';
  for (const auto& group : op.same_sizes) PrintNames("Equal sizes", group, terminal);
  for (const TensorInfo& input : op.inputs) {
    if (input.one_element) terminal.out << "One element: " << input.name << '\n';
  }
  for (const auto& group : op.same_data_type) PrintNames("Equal types", group, terminal);
  for (const auto& group : op.same_float_type) {
    PrintNames("Equal types, with integers FLOAT32", group, terminal);
  }
  for (const TensorInfo& input : op.inputs) {
    if (!input.optional) continue;
    terminal.out << "Optional: " << input.name;
    if (input.optional_since > op.introduced) terminal.out << ", from " << input.optional_since;
    terminal.out << '\n';
  }
  if (!op.in_place.empty()) {
    PrintNames("The output may alias one of", op.in_place, terminal);
  }
}

}  // namespace

int RunCommand(const OperatorsArguments& arguments, const Terminal& terminal) {
  const absl::StatusOr<ClientOptions> options = MakeClientOptions(arguments.server);
  if (!options.ok()) return FailFile(terminal, arguments.json, options.status());
  const std::string& address = arguments.server.address;
  const auto fail = [&](const absl::Status& status) {
    return FailCall(terminal, arguments.json, "operators", address, status);
  };
  const auto client = Client::Connect(address, *options);
  if (!client.ok()) return fail(client.status());
  absl::StatusOr<Catalogue> catalogue =
      (*client)->ListOperators(arguments.name, arguments.feature_level);
  if (!catalogue.ok()) return fail(catalogue.status());
  if (!arguments.name.empty() && catalogue->operators.empty()) {
    terminal.err << "opserve: " << arguments.name << " is not there at feature level "
                 << arguments.feature_level << '\n';
  }
  if (!arguments.search.empty()) {
    KeepFound(arguments.search, catalogue->operators);
    if (catalogue->operators.empty()) {
      terminal.err << "opserve: no operator has \"" << arguments.search << "\"\n";
    }
  }

  if (arguments.json) {
    WriteJson(ToJson(*catalogue), terminal);
  } else if (arguments.name.empty()) {
    PrintList(catalogue->operators, terminal);
  } else {
    for (const OperatorInfo& op : catalogue->operators) PrintOperator(op, terminal);
  }
  return kSuccess;
}

}  // namespace opserve::cli
