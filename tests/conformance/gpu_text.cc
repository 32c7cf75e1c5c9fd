#include "tests/conformance/gpu_text.h"

#include <array>

#include "kernels/hlsl/kernel_key.h"
#include "tests/conformance/hlsl_words.h"

// Not all of the text is called, and it is written as HLSL is.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#ifdef __clang__
// That is how an attribute of HLSL becomes one of C++.
#pragma clang diagnostic ignored "-Wcompound-token-split-by-macro"
#endif

namespace opserve::testing {
namespace {

// Powers of floats are told the type of the exponent, and do not look at it.
#define EXPONENT_TYPE 0

namespace of_float32 {
#define LANE_BITS 32
#define MANTISSA_BITS 23
#include "tests/conformance/gpu_bodies.inc"
#undef LANE_BITS
#undef MANTISSA_BITS
}  // namespace of_float32

namespace of_float16 {
#define LANE_BITS 16
#define MANTISSA_BITS 10
#include "tests/conformance/gpu_bodies.inc"
#undef LANE_BITS
#undef MANTISSA_BITS
}  // namespace of_float16

}  // namespace

GpuBody GpuBodyOf(OpId op, DataType lane) {
  if (lane == DataType::kFloat32) return of_float32::BodyOf(op);
  if (lane == DataType::kFloat16) return of_float16::BodyOf(op);
  return nullptr;
}

GpuElement GpuPower(DataType lane, uint32_t x, DataType exponent, uint32_t y) {
  const uint32_t type =
      hlsl::NumberTypesOf(TraitsOf(OpId::ELEMENT_WISE_POW), {lane, exponent})[0] >> 8;
  return lane == DataType::kFloat32 ? of_float32::PowerOfTyped(x, y, type)
                                    : of_float16::PowerOfTyped(x, y, type);
}

std::vector<GpuElement> GpuRowOf(OpId op, DataType lane, std::span<const uint32_t> row) {
  if (lane == DataType::kFloat32) return of_float32::RowOf(op, row);
  if (lane == DataType::kFloat16) return of_float16::RowOf(op, row);
  return {};
}

}  // namespace opserve::testing
