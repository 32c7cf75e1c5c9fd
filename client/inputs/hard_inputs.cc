#include "client/inputs/hard_inputs.h"

#include <algorithm>

#include "client/inputs/special_floats.h"

namespace opserve {
namespace {

void AppendNew(uint32_t value, std::vector<uint32_t>& values) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

}  // namespace

const std::vector<HardInputs>& AllHardInputs() {
  static const auto& all = *new std::vector<HardInputs>{
#define OPSERVE_STRIP(...) __VA_ARGS__
#define OPSERVE_HARD_INPUTS(OPERATOR, TYPE, ATTRIBUTES, HARDEST, EDGES) \
  {#OPERATOR,                                                           \
   DataType::TYPE,                                                      \
   {OPSERVE_STRIP ATTRIBUTES},                                          \
   {OPSERVE_STRIP HARDEST},                                             \
   {OPSERVE_STRIP EDGES}},
#include "client/inputs/hard_inputs.def"
#undef OPSERVE_HARD_INPUTS
#undef OPSERVE_STRIP
  };
  return all;
}

const HardInputs* FindHardInputs(absl::string_view operator_name, DataType type) {
  const auto& all = AllHardInputs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const HardInputs& inputs) {
    return inputs.operator_name == operator_name && inputs.type == type;
  });
  return found == all.end() ? nullptr : &*found;
}

std::vector<uint32_t> WithBothSigns(const HardInputs& inputs) {
  const uint32_t sign = uint32_t{1} << (8 * SizeOf(inputs.type) - 1);
  std::vector<uint32_t> values;
  for (const auto* list : {&inputs.hardest, &inputs.edges}) {
    for (const uint32_t bits : *list) {
      AppendNew(bits, values);
      AppendNew(bits ^ sign, values);
    }
  }
  return values;
}

std::vector<uint32_t> HardAndSpecialInputs(const HardInputs& inputs) {
  std::vector<uint32_t> values = WithBothSigns(inputs);
  for (const uint64_t bits : SpecialFloats(inputs.type)) {
    AppendNew(static_cast<uint32_t>(bits), values);
  }
  return values;
}

}  // namespace opserve
