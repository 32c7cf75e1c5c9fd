// File: server/pool/verify/float_format.h
//
// The bits of the float types. Stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_POOL_VERIFY_FLOAT_FORMAT_H_
#define OPSERVE_SERVER_POOL_VERIFY_FLOAT_FORMAT_H_

#include <cstdint>

#include "kernels/data_type.h"

namespace opserve {

// The layout of a float type, from the top: sign, exponent, mantissa.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;

  constexpr uint64_t sign() const { return uint64_t{1} << (exponent_bits + mantissa_bits); }
  constexpr uint64_t infinity() const {
    return ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
  constexpr uint64_t quiet_bit() const { return uint64_t{1} << (mantissa_bits - 1); }
  // 1.0, whose exponent is half the greatest.
  constexpr uint64_t one() const {
    return ((uint64_t{1} << (exponent_bits - 1)) - 1) << mantissa_bits;
  }
  constexpr bool is_nan(uint64_t bits) const { return (bits & (sign() - 1)) > infinity(); }
};

// The format of a type for which IsFloat holds.
constexpr FloatFormat FormatOf(DataType type) {
  if (type == DataType::kFloat64) return {11, 52};
  if (type == DataType::kFloat32) return {8, 23};
  return {5, 10};
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_FLOAT_FORMAT_H_
