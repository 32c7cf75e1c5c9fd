// File: server/pool/verify/sample_values.h
//
// Values for the inputs of calls that the pool makes up to test and to measure devices.

#ifndef OPSERVE_SERVER_POOL_VERIFY_SAMPLE_VALUES_H_
#define OPSERVE_SERVER_POOL_VERIFY_SAMPLE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "kernels/data_type.h"

namespace opserve {

enum class SampleValues : uint8_t {
  kHard,           // zeros, infinities, NaNs, denormals, limits, any bits, and floats near 1, mixed
  kUsual,          // small numbers, as data has them
  kUsualNegative,  // those with their signs changed
};

// Values that a device may well get wrong, in the low bits of each entry.
std::vector<uint64_t> SpecialValuesOf(DataType type);

// Fills `bytes` with elements of `type`; after the first 16 KiB they repeat. What is left at the
// end becomes zero.
void FillWithSamples(DataType type, SampleValues values, std::mt19937_64& random,
                     std::span<std::byte> bytes);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_SAMPLE_VALUES_H_
