#include "kernels/op_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "kernels/op_rows.h"
#include "proto/base/edit_distance.h"

namespace opserve {
namespace {

using op_rows::kRows;

constexpr bool IsOneSentence(absl::string_view text) {
  return !text.empty() && text.size() <= 90 && text.back() != '.' &&
         std::find(text.begin(), text.end(), '\n') == text.end();
}

constexpr bool SupportIsSound(const OpTraits& op) {
  if (op.support.empty()) return false;
  for (size_t i = 0; i < op.support.size(); ++i) {
    const SupportRow& row = op.support[i];
    if (i > 0 && row.level <= op.support[i - 1].level) return false;
    if (row.types.size() != op.inputs.size() + 1) return false;
    if (row.min_dimension_count < 1 || row.max_dimension_count > kMaxDimensionCount ||
        row.min_dimension_count > row.max_dimension_count) {
      return false;
    }
    for (DataTypeSet types : row.types) {
      if (types.empty()) return false;
    }
  }
  return true;
}

// Whether the types of these tensors must be equal, and those of no others with them.
constexpr bool HasGroup(const OpTraits& op, TensorMask tensors) {
  for (const TypeGroup& group : op.same_data_type) {
    if (group.tensors == tensors && !group.integers_count_as_float32) return true;
  }
  return false;
}

// Whether the tensors are what the kernel takes them for, whose memory it reads and writes as its
// shape says: conditions are UINT8, flags and counts UINT8 or UINT32, numbers of a type of their
// own have fewer than 64 bits, and all others have one type, which is the lane's.
constexpr bool ShapeIsSound(const OpTraits& op) {
  if (op.input_count() != op.shape.input_count()) return false;
  const bool gives_value = op.shape.result == OpResult::kValue;
  if (op.lane_tensor() == op.input_count() && !gives_value) return false;
  const auto is_lane = [&](int t) {
    return t < op.input_count() ? op.shape.is_lane(t) : gives_value;
  };
  const auto is_small = [](DataTypeSet types) {
    return (types | op_rows::kNumeric8) == op_rows::kNumeric8;
  };
  TensorMask lanes = 0;
  for (int t = 0; t < op.tensor_count(); ++t) lanes |= is_lane(t) ? op.MaskOf(t) : TensorMask{0};
  if (lanes != op.MaskOf(op.lane_tensor()) && !HasGroup(op, lanes)) return false;
  for (int t = 0; t < op.tensor_count(); ++t) {
    for (const SupportRow& row : op.support) {
      const bool is_sound = is_lane(t) ? row.types[t] == row.types[op.lane_tensor()]
                            : t < op.input_count() && op.shape.is_number(t) ? is_small(row.types[t])
                            : t < op.input_count()
                                ? row.types[t] == op_rows::kU8
                                : (row.types[t] | op_rows::kFlags) == op_rows::kFlags;
      if (!is_sound) return false;
    }
  }
  return true;
}

constexpr bool AttributesAreSound(const OpTraits& op) {
  for (const AttributeTraits& attribute : op.attributes) {
    if (attribute.name.empty()) return false;
    if ((attribute.kind == AttributeKind::kEnum) == attribute.values.empty()) return false;
    if (op.is_fusable && attribute.kind != AttributeKind::kFloat) return false;
    if (op.is_fusable && FusedNameOf(attribute.name).empty()) return false;
    // Which dimensions make a row has no default, and no meaning but for rows.
    if (attribute.kind == AttributeKind::kAxes && (attribute.optional || !op.shape.is_row)) {
      return false;
    }
    for (size_t i = 0; i < attribute.values.size(); ++i) {
      if (attribute.values[i].number != static_cast<int32_t>(i)) return false;
    }
  }
  return true;
}

// Whether the operator asks nothing that kernels of rows do not do: they have no modes, and their
// results never take the place of an input.
constexpr bool RowsAreSound(const OpTraits& op) {
  if (!op.shape.is_row) return true;
  return op.in_place.empty() && !op.takes_scale_bias && !op.has_mode() &&
         (op.attributes.empty() || (op.attributes.size() == 1 && op.axes_attribute() == 0));
}

constexpr bool TableIsSound() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const OpTraits& op = kRows[i];
    if (op.id != static_cast<OpId>(i)) return false;
    if (i > 0 && kRows[i - 1].family > op.family) return false;
    if (i > 0 && kRows[i - 1].family == op.family && !(kRows[i - 1].name < op.name)) return false;
    if (!IsOneSentence(op.summary) || op.formula.empty()) return false;
    if (!SupportIsSound(op) || !ShapeIsSound(op) || !AttributesAreSound(op)) return false;
    if (op.mode_count() > op_rows::kMaxModes) return false;
    if (!RowsAreSound(op)) return false;
  }
  return true;
}
static_assert(TableIsSound(), "kernels/operators: rows must be sorted and complete");

// The rows by name.
constexpr auto kByName = [] {
  std::array<uint16_t, op_rows::kRowCount> rows = {};
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint16_t>(i);
  std::sort(rows.begin(), rows.end(),
            [](uint16_t a, uint16_t b) { return kRows[a].name < kRows[b].name; });
  return rows;
}();

// A name without the prefix that its whole family shares.
absl::string_view StemOf(absl::string_view name) {
  for (absl::string_view family : {"ELEMENT_WISE_", "ACTIVATION_"}) {
    if (absl::StartsWith(name, family)) return name.substr(family.size());
  }
  return name;
}

}  // namespace

std::span<const OpTraits> OpTable() { return kRows; }

const OpTraits& TraitsOf(OpId id) { return kRows[static_cast<size_t>(id)]; }

const OpTraits* FindOperator(absl::string_view name) {
  const auto found =
      std::lower_bound(kByName.begin(), kByName.end(), name,
                       [](uint16_t row, absl::string_view key) { return kRows[row].name < key; });
  return found != kByName.end() && kRows[*found].name == name ? &kRows[*found] : nullptr;
}

std::vector<absl::string_view> NearestOperators(absl::string_view name) {
  constexpr size_t kMostSuggestions = 3;
  // Longer names are no typing mistakes, and would make the distance costly.
  if (name.empty() || name.size() > 64) return {};
  const std::string upper = absl::AsciiStrToUpper(name);
  const absl::string_view typed = StemOf(upper);

  std::vector<std::pair<size_t, absl::string_view>> near;
  for (const OpTraits& op : kRows) {
    const bool is_part = typed.size() >= 2 && absl::StrContains(op.name, typed);
    // The full name counts too: the typing mistake may be in the prefix.
    const size_t distance =
        is_part ? 0 : std::min(EditDistance(typed, StemOf(op.name)), EditDistance(upper, op.name));
    if (distance * 2 <= typed.size()) near.emplace_back(distance, op.name);
  }
  std::sort(near.begin(), near.end());
  std::vector<absl::string_view> names;
  for (const auto& [distance, near_name] : near) {
    const bool stands_out = distance <= near.front().first + 2;
    if (stands_out && names.size() < kMostSuggestions) names.push_back(near_name);
  }
  return names;
}

}  // namespace opserve
