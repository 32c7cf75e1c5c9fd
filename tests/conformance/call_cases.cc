#include "tests/conformance/call_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/attribute_settings.h"
#include "kernels/op_table.h"
#include "kernels/reference.h"
#include "tests/conformance/special_values.h"
#include "tests/testing/request_builder.h"

namespace opserve::testing {
namespace {

// Zero, special values, numbers of moderate size, any bits.
uint64_t MakeValue(DataType type, std::mt19937_64& random) {
  const uint64_t dice = random();
  const std::vector<uint64_t>& special = SpecialValues(type);
  switch (dice % 8) {
    case 0:
      return 0;
    case 1:
    case 2:
    case 3:
      return special[(dice >> 8) % special.size()];
    case 4:
      return (dice >> 8) % 100;
    default:
      return random();
  }
}

std::vector<uint32_t> Permuted(const std::vector<uint32_t>& sizes, uint32_t rotation) {
  std::vector<uint32_t> strides(sizes.size());
  uint32_t stride = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t d = (i + rotation) % sizes.size();
    strides[d] = stride;
    stride *= sizes[d];
  }
  return strides;
}

// The first element of a tensor like `output` that is not right; empty if there is none.
template <class Predicate>
std::string FirstDifference(const TensorDesc& output, const std::byte* expected,
                            const std::byte* actual, const Predicate& is_right) {
  const size_t size = SizeOf(output.data_type);
  for (size_t at = 0; at + size <= *ExactSizeInBytes(output); at += size) {
    const uint64_t want = ReadBits(expected + at, size);
    const uint64_t have = ReadBits(actual + at, size);
    if (is_right(want, have)) continue;
    return absl::StrCat("element ", at / size, ": 0x", absl::Hex(have), " instead of 0x",
                        absl::Hex(want));
  }
  return "";
}

}  // namespace

int Cell::mode_count() const { return op->mode_count(); }

int Cell::setting_count() const { return SettingCount(*op, lane); }

std::string Cell::name() const {
  const std::string name = absl::StrCat(op->name, "_", NameOf(lane));
  return output == op->OutputTypes(lane).last() ? name : absl::StrCat(name, "_", NameOf(output));
}

void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.name(); }

std::vector<Cell> AllCells() {
  std::vector<Cell> cells;
  for (const OpTraits& op : OpTable()) {
    if (op.shape.is_row) continue;
    for (DataType type : kAllDataTypes) {
      if (!op.lane_types().contains(type)) continue;
      for (DataType output : kAllDataTypes) {
        if (op.OutputTypes(type).contains(output)) cells.push_back({&op, type, output});
      }
    }
  }
  return cells;
}

bool CanBePacked(const OpTraits& op) {
  return std::none_of(op.inputs.begin(), op.inputs.end(),
                      [](const TensorTraits& input) { return input.is_single; });
}

std::vector<Cell> PackableCells() {
  std::vector<Cell> cells = AllCells();
  std::erase_if(cells, [](const Cell& cell) { return !CanBePacked(*cell.op); });
  return cells;
}

std::vector<uint32_t> SizesOfInput(const OpTraits& op, int i, const std::vector<uint32_t>& sizes) {
  return op.inputs[i].is_single ? std::vector<uint32_t>(sizes.size(), 1) : sizes;
}

Layout Packed(uint32_t count) { return {"packed", {count}, std::vector<std::vector<uint32_t>>(4)}; }

std::vector<Layout> LayoutsOf(uint32_t count) {
  const uint32_t rows = count < 12 ? 2 : count < 500 ? 3 : 37;
  const uint32_t columns = (count + rows - 1) / rows;
  const std::vector<uint32_t> plane = {rows, columns};
  const uint32_t depth = (count + 71) / 72;
  const std::vector<uint32_t> eight = {2, 1, 3, 2, depth, 1, 2, 3};
  return {
      Packed(count),
      {"strided", {count}, {{2}, {3}, {2}, {2}}},
      {"dense output", {count}, {{3}, {5}, {1}, {1}}},
      {"broadcast", plane, {{0, 1}, {1, 0}, {0, 0}, {columns, 1}}},
      {"broadcast rows", plane, {{1, 0}, {0, 1}, {columns, 1}, {columns, 1}}},
      {"transposed", plane, {{1, rows}, {columns, 1}, {1, rows}, {columns, 1}}},
      {"transposed output", plane, {{columns, 1}, {1, rows}, {columns, 1}, {1, rows}}},
      {"padded", plane, {{columns + 5, 1}, {columns + 1, 1}, {columns, 1}, {columns + 3, 1}}},
      {"short rows", {columns, 3}, {{3, 1}, {1, 0}, {4, 1}, {3, 1}}},
      {"short padded rows", {columns, 3}, {{4, 1}, {3, 1}, {0, 1}, {5, 1}}},
      {"8-D", eight, {Permuted(eight, 3), Permuted(eight, 5), Permuted(eight, 0), {}}},
      {"8-D output", eight, {{}, Permuted(eight, 2), Permuted(eight, 7), Permuted(eight, 4)}},
  };
}

std::shared_ptr<const Invocation> MakeCall(const Cell& cell, int setting, const Layout& layout) {
  RequestBuilder builder{std::string(cell.op->name)};
  for (int i = 0; i < cell.op->input_count(); ++i) {
    const bool is_single = cell.op->inputs[i].is_single;
    builder.Input({cell.op->InputType(i, cell.lane), SizesOfInput(*cell.op, i, layout.sizes),
                   is_single ? std::vector<uint32_t>() : layout.strides_of_input(i)});
  }
  builder.Output({cell.output, layout.sizes, layout.strides_of_output()});
  builder.request().attributes = AttributesOfSetting(*cell.op, cell.lane, setting);
  ValidationResult result = builder.Validate();
  for (const Violation& violation : result.violations) {
    ADD_FAILURE() << cell.name() << ", " << layout.name << ": " << violation.field << ": "
                  << violation.description;
  }
  return result.invocation;
}

std::vector<GuardedInput> MakeInputs(const Invocation& call, std::mt19937_64& random) {
  std::vector<GuardedInput> inputs;
  for (int i = 0; i < TraitsOf(call.op).input_count(); ++i) {
    GuardedInput& input = inputs.emplace_back(call.input_bytes[i]);
    const DataType type = call.inputs[i].data_type;
    if (type == DataType::kUnknown) continue;
    const size_t size = SizeOf(type);
    for (size_t at = 0; at + size <= input.size(); at += size) {
      const uint64_t value = MakeValue(type, random);
      std::memcpy(input.data() + at, &value, size);
    }
  }
  return inputs;
}

std::vector<const std::byte*> PointersTo(const std::vector<GuardedInput>& inputs) {
  std::vector<const std::byte*> pointers;
  for (const GuardedInput& input : inputs) pointers.push_back(input.data());
  return pointers;
}

std::vector<std::byte> ReferenceOutput(const Invocation& call,
                                       const std::vector<const std::byte*>& inputs) {
  std::vector<std::byte> output(call.output_bytes);
  RunReference(call, inputs, output.data());
  return output;
}

uint64_t ReadBits(const std::byte* from, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  return bits;
}

bool IsRight(const Invocation& call, uint64_t expected, uint64_t actual) {
  const DataType type = call.output.data_type;
  if (call.keeps_nan_bits() || !IsNan(type, expected)) return actual == expected;
  return IsNan(type, actual) && !IsSignallingNan(type, actual);
}

std::string Difference(const Invocation& call, const std::byte* expected, const std::byte* actual) {
  return FirstDifference(call.output, expected, actual,
                         [&](uint64_t want, uint64_t have) { return IsRight(call, want, have); });
}

std::string DifferenceOfRuns(const TensorDesc& output, const std::byte* expected,
                             const std::byte* actual) {
  return FirstDifference(output, expected, actual, [&](uint64_t want, uint64_t have) {
    return have == want || (IsNan(output.data_type, want) && IsNan(output.data_type, have));
  });
}

}  // namespace opserve::testing
