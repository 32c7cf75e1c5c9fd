// File: tests/conformance/exact_values.h
//
// Elementary functions and the activations made of them, by MPFR: formulas with hundreds of digits
// that share nothing with the kernels or with kernels/reference_elementary.h.

#ifndef OPSERVE_TESTS_CONFORMANCE_EXACT_VALUES_H_
#define OPSERVE_TESTS_CONFORMANCE_EXACT_VALUES_H_

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "kernels/data_type.h"
#include "kernels/op_table.h"

namespace opserve::testing {

// The operators that ExactResult() knows: all whose results are no rational numbers.
const std::vector<OpId>& TranscendentalOperators();

// The arguments of one element: the inputs, and the attributes of the call.
struct ExactArguments {
  std::array<float, 2> inputs = {};
  std::array<float, 2> attributes = {};
};

// The exact result as a double that rounds to FLOAT32 and FLOAT16 as it does: it is exact, or it
// has its last bit set and is on the same side of all shorter numbers. Thread-safe.
double ExactResult(OpId op, const ExactArguments& arguments);

// How near the exact result is to the middle between two neighbours of FLOAT32 or FLOAT16, of which
// the one beyond the largest number is infinite: a part of their distance, from 0 to 0.5. Nothing
// where the result has as few digits as a double, so that it costs nothing to be right.
// Thread-safe.
std::optional<double> DistanceToMiddle(OpId op, const ExactArguments& arguments, DataType type);

// What ExactResult() gives, of each element of a row of finite elements and minus infinities, not
// all of which are that.
std::vector<double> ExactSoftmax(std::span<const float> row);
std::vector<double> ExactLogSoftmax(std::span<const float> row);

// Frees what ExactResult() keeps for the calling thread: to be called before a thread ends.
void FreeExactValuesOfThread();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_EXACT_VALUES_H_
