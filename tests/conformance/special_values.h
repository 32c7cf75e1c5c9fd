// File: tests/conformance/special_values.h
//
// Values of every element type that kernels are likely to get wrong, as bits.

#ifndef OPSERVE_TESTS_CONFORMANCE_SPECIAL_VALUES_H_
#define OPSERVE_TESTS_CONFORMANCE_SPECIAL_VALUES_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/data_type.h"

namespace opserve::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Zeros, infinities, NaNs of both kinds, denormals, limits, halfway cases, neighbours of powers of
// two; in the low bits of each entry.
const std::vector<uint64_t>& SpecialValues(DataType type);

// Whether `bits` is a NaN of a float type, and whether it is a signalling one.
bool IsNan(DataType type, uint64_t bits);
bool IsSignallingNan(DataType type, uint64_t bits);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_CONFORMANCE_SPECIAL_VALUES_H_
