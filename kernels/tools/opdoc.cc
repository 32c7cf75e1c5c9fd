// Writes docs/operators.md from the operator table.
//
//   opdoc                print the page
//   opdoc --check FILE   compare the page with FILE; exit code 1 if they differ

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/hlsl/blobs.h"
#include "kernels/op_table.h"
#include "kernels/tools/written_file.h"

namespace opserve {
namespace {

std::string Anchor(const OpTraits& op) { return absl::AsciiStrToLower(op.name); }

// "arithmetic" becomes "Arithmetic".
std::string Capitalized(absl::string_view text) {
  return absl::StrCat(absl::AsciiStrToUpper(text.substr(0, 1)), text.substr(1));
}

// The lane types that a GPU has kernels for.
std::string GpuTypes(const OpTraits& op) {
  DataTypeSet types;
  for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
    if (blob.key.op == op.id) types = types | DataTypeSet{blob.key.lane};
  }
  if (types.empty()) {
    return "none; it runs on the processor";
  }
  const absl::string_view before_and_after = op.takes_scale_bias         ? "ScaleBias"
                                             : op.takes_fused_activation ? kFusedActivation
                                                                         : "";
  return absl::StrCat(types == op.lane_types() ? "all types" : types.ToString(),
                      before_and_after.empty() ? "" : "; with a `", before_and_after,
                      before_and_after.empty() ? "" : "` it runs on the processor");
}

// The names of the tensors for which `counts` holds.
template <class Function>
std::string TensorNames(const OpTraits& op, const Function& counts) {
  std::string names;
  for (int t = 0; t < op.tensor_count(); ++t) {
    if (counts(t)) absl::StrAppend(&names, names.empty() ? "" : ", ", op.tensor(t).name);
  }
  return names;
}

// "`A`, `B` (optional from 6_2)"
std::string InputNames(const OpTraits& op) {
  return absl::StrJoin(op.inputs, ", ", [&](std::string* out, const TensorTraits& input) {
    absl::StrAppend(out, "`", input.name, "`");
    if (!input.optional) return;
    absl::StrAppend(out, " (optional");
    if (input.optional_since > op.introduced()) {
      absl::StrAppend(out, " from ", NameOf(input.optional_since));
    }
    absl::StrAppend(out, ")");
  });
}

// Which tensors must agree.
std::string GroupsText(const OpTraits& op) {
  const auto is_single = [&](int t) { return op.tensor(t).is_single; };
  std::string text =
      absl::StrCat("- Same sizes: ", TensorNames(op, [&](int t) { return !is_single(t); }), "\n");
  const std::string singles = TensorNames(op, is_single);
  if (!singles.empty()) {
    absl::StrAppend(&text, "- One element, in as many dimensions: ", singles, "\n");
  }
  for (const TypeGroup& group : op.same_data_type) {
    absl::StrAppend(
        &text, "- Same data type",
        group.integers_count_as_float32 ? ", FLOAT32 where the first has integers: " : ": ",
        TensorNames(op, [&](int t) { return (group.tensors & op.MaskOf(t)) != 0; }), "\n");
  }
  return text;
}

// What an attribute without named values takes.
absl::string_view ValuesText(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt:
      return "an integer";
    case AttributeKind::kDataType:
      return "the data type of the tensors, by name";
    case AttributeKind::kScalar:
      return "a number of that data type";
    case AttributeKind::kAxes:
      return "a list of dimensions";
    case AttributeKind::kFloat:
    case AttributeKind::kEnum:
    case AttributeKind::kActivation:
      break;
  }
  return "a number";
}

std::string AttributeText(const AttributeTraits& attribute) {
  std::string text =
      absl::StrCat("- `", attribute.name, "`", attribute.optional ? " (optional)" : "", ": ");
  if (attribute.kind != AttributeKind::kEnum) {
    absl::StrAppend(&text, ValuesText(attribute.kind));
    if (attribute.minimum_until > FeatureLevel::k1_0) {
      absl::StrAppend(&text, ", below level ", NameOf(attribute.minimum_until), " of at least ",
                      attribute.minimum);
    }
    return absl::StrCat(text, "\n");
  }
  absl::StrAppend(&text, "one of\n");
  for (const EnumValue& value : attribute.values) {
    absl::StrAppend(&text, "  - `", value.name, "` (", value.number, "): ", value.meaning, "\n");
  }
  return text;
}

std::string SupportTable(const OpTraits& op) {
  std::string header = "| from level | dimensions |";
  std::string rule = "|---|---|";
  for (int t = 0; t < op.tensor_count(); ++t) {
    absl::StrAppend(&header, " ", op.tensor(t).name, " |");
    absl::StrAppend(&rule, "---|");
  }
  std::string table = absl::StrCat(header, "\n", rule, "\n");
  for (const SupportRow& row : op.support) {
    absl::StrAppend(&table, "| ", NameOf(row.level), " | ", row.min_dimension_count,
                    row.min_dimension_count == row.max_dimension_count
                        ? ""
                        : absl::StrCat(" to ", row.max_dimension_count),
                    " |");
    for (DataTypeSet types : row.types) absl::StrAppend(&table, " ", types.ToString(), " |");
    absl::StrAppend(&table, "\n");
  }
  return table;
}

std::string Section(const OpTraits& op) {
  std::string text =
      absl::StrCat("## ", op.name, "\n\n", op.summary, ".\n\n    ", op.formula, "\n\n");
  absl::StrAppend(&text, "- Inputs: ", InputNames(op), "; output: `", op.output.name, "`\n");
  for (const AttributeTraits& attribute : op.attributes) {
    absl::StrAppend(&text, AttributeText(attribute));
  }
  if (op.takes_scale_bias) {
    absl::StrAppend(&text, "- `", kScaleAttribute, "`, `", kBiasAttribute,
                    "` (optional, both or neither): numbers; each element x of the input is first "
                    "replaced by x * Scale + Bias in its own type\n");
  }
  if (op.takes_fused_activation) {
    absl::StrAppend(&text, "- `", kFusedActivation,
                    "` (optional): the name of an activation, which is computed of each rounded "
                    "result; one of\n");
    for (const OpTraits& other : OpTable()) {
      if (!other.is_fusable) continue;
      absl::StrAppend(&text, "  - `", other.name, "`");
      for (const AttributeTraits& attribute : other.attributes) {
        absl::StrAppend(&text, &attribute == other.attributes.begin() ? " with `" : ", `",
                        FusedNameOf(attribute.name), "`");
      }
      absl::StrAppend(&text, "\n");
    }
  }
  absl::StrAppend(&text, GroupsText(op));
  if (op.max_effective_rank < kMaxDimensionCount) {
    absl::StrAppend(&text, "- Sizes: at most ", int{op.max_effective_rank},
                    " dimensions, not counting leading ones of size 1\n");
  }
  absl::StrAppend(
      &text, "- In place: ", op.in_place.empty() ? "no" : absl::StrJoin(op.in_place, " or "), "\n");
  absl::StrAppend(&text, "- GPU: ", GpuTypes(op), "\n\n", SupportTable(op), "\n");
  return text;
}

std::string Page() {
  std::string page =
      "# Operators\n\n"
      "Made from the operator table by `make docs`; do not edit. A row holds from its feature "
      "level "
      "until the next row.\nEvery result is the exact value of the formula, rounded once, the same "
      "on "
      "every device; a computed NaN is any quiet NaN.\n[adr/0005-rounding-and-fmod.md]"
      "(adr/0005-rounding-and-fmod.md) tells what rounding and remainders do with NaN, infinities, "
      "zeros and denormals.\n";
  const OpTraits* last = nullptr;
  for (const OpTraits& op : OpTable()) {
    if (last == nullptr || op.family != last->family) {
      absl::StrAppend(&page, "\n**", Capitalized(NameOf(op.family)),
                      "**\n\n| operator | introduced | what it does |\n|---|---|---|\n");
    }
    last = &op;
    absl::StrAppend(&page, "| [", op.name, "](#", Anchor(op), ") | ", NameOf(op.introduced()),
                    " | ", op.summary, " |\n");
  }
  absl::StrAppend(&page, "\n");
  for (const OpTraits& op : OpTable()) absl::StrAppend(&page, Section(op));
  page.pop_back();
  return page;
}

}  // namespace
}  // namespace opserve

int main(int argc, char** argv) {
  return opserve::PrintOrCheck(argc, argv, "opdoc", "docs", opserve::Page());
}
