// File: client/inputs/hard_inputs.h
//
// Inputs at which an operator is hard to compute: the exact result is next to the middle between
// two neighbours of the type, so that the last digit of a careless computation decides which of
// them it gives. The data is in hard_inputs.def, which `make hardest` writes; the conformance tests
// run it, and `opserve inputs` writes it to files. Thread-safe.

#ifndef OPSERVE_CLIENT_INPUTS_HARD_INPUTS_H_
#define OPSERVE_CLIENT_INPUTS_HARD_INPUTS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "opserve/data_type.h"

namespace opserve {

// A FLOAT attribute of the calls that inputs are hard for.
struct HardInputAttribute {
  absl::string_view name;
  float value;
};

// What is known of an operator of one input in one type. Inputs are bits.
struct HardInputs {
  absl::string_view operator_name;
  DataType type;  // FLOAT32 or FLOAT16
  std::vector<HardInputAttribute> attributes;
  // The hardest first. Not all of one magnitude: at most two per exponent and sign, so that each
  // range of the function has some, and of x and -x one.
  std::vector<uint32_t> hardest;
  // Neighbours between which results become infinite, zero, denormal or NaN, in pairs.
  std::vector<uint32_t> edges;
};

// Sorted by operator, with the types of each together.
const std::vector<HardInputs>& AllHardInputs();

// nullptr where there are none.
const HardInputs* FindHardInputs(absl::string_view operator_name, DataType type);

// The hardest inputs and the edges with both signs, without repetition.
std::vector<uint32_t> WithBothSigns(const HardInputs& inputs);

// What a test runs: those, and behind them the SpecialFloats() of the type that are not among them.
std::vector<uint32_t> HardAndSpecialInputs(const HardInputs& inputs);

}  // namespace opserve

#endif  // OPSERVE_CLIENT_INPUTS_HARD_INPUTS_H_
