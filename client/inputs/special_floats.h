// File: client/inputs/special_floats.h
//
// Values of float types that kernels are likely to get wrong, whatever the operator, as bits.
// Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_INPUTS_SPECIAL_FLOATS_H_
#define OPSERVE_CLIENT_INPUTS_SPECIAL_FLOATS_H_

#include <cstdint>
#include <vector>

#include "opserve/data_type.h"

namespace opserve {

// Zeros, infinities, NaNs of both kinds, denormals, limits, halfway cases and numbers at which
// functions bend, with their neighbours; of FLOAT64, FLOAT32 or FLOAT16, in the low bits of each
// entry.
std::vector<uint64_t> SpecialFloats(DataType type);

}  // namespace opserve

#endif  // OPSERVE_CLIENT_INPUTS_SPECIAL_FLOATS_H_
