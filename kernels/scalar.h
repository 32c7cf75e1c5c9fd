// File: kernels/scalar.h
//
// Scalars: attributes whose type is that of the tensors, DirectML's DML_SCALAR_UNION. Values;
// thread-safe.

#ifndef OPSERVE_KERNELS_SCALAR_H_
#define OPSERVE_KERNELS_SCALAR_H_

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>

#include "kernels/data_type.h"

namespace opserve {

// A scalar as AttributeValues hold it: an integer in 64 bits, a FLOAT32 or FLOAT16 as FLOAT32.
struct Scalar {
  uint64_t bits = 0;

  // The value, where `T` is what kernels compute the tensors' type in.
  template <class T>
  constexpr T As() const {
    if constexpr (std::same_as<T, float>) {
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    } else {
      return static_cast<T>(bits);
    }
  }
};

// The number as a scalar of `type`: the nearest value of a float type; nullopt where an integer
// type has no such value. There are no scalars of FLOAT64.
std::optional<Scalar> ScalarOf(int64_t number, DataType type);
std::optional<Scalar> ScalarOf(uint64_t number, DataType type);
std::optional<Scalar> ScalarOf(double number, DataType type);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_SCALAR_H_
