// File: kernels/op_shape.h
//
// Shapes of operators: the signature of the kernel that computes one element. Each row of
// kernels/elementwise.def names the shape of its operator, and a name that is not here does not
// compile. This is the only place that says what a shape means; what is different for each shape
// beside these facts is how a kernel loads and stores its elements, which kernels/cpu/shapes-inl.h
// and kernels/reference_shapes.h say. Constants; safe to use from any thread.

#ifndef OPSERVE_KERNELS_OP_SHAPE_H_
#define OPSERVE_KERNELS_OP_SHAPE_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace opserve {

// The signature of a kernel. Every tensor of an operator has either elements of the lane type, for
// which the kernel is made, or conditions: UINT8, where 0 stands for false.
struct OpShape {
  // One letter per input, in the operator's order: what kernel expressions call its element. 'c'
  // is a condition, the others are of the lane type.
  absl::string_view operands = {};
  // Whether the result is a condition, 0 or 1. Otherwise it is of the lane type.
  bool is_predicate = false;
  // Whether elements are moved as they are and never computed. Types of one size then share a
  // kernel, and a NaN keeps all its bits.
  bool moves_bits = false;

  constexpr int input_count() const { return static_cast<int>(operands.size()); }

  // Whether tensor `i` holds conditions: an input, or the output at input_count().
  constexpr bool is_condition(int i) const {
    return i < input_count() ? operands[static_cast<size_t>(i)] == 'c' : is_predicate;
  }

  // The first input of the lane type; input_count() if there is none.
  constexpr int lane_input() const {
    int i = 0;
    while (i < input_count() && is_condition(i)) ++i;
    return i;
  }
};

// The shapes, and for each the parameters of a function whose body is a kernel expression:
// OPSERVE_OPERANDS_shape declares c as CONDITION, x and y as VALUE.
namespace op_shapes {

// T(x)
inline constexpr OpShape kUnary = {.operands = "x"};
#define OPSERVE_OPERANDS_Unary(CONDITION, VALUE) VALUE x

// T(x, y)
inline constexpr OpShape kBinary = {.operands = "xy"};
#define OPSERVE_OPERANDS_Binary(CONDITION, VALUE) VALUE x, VALUE y

// bool(x)
inline constexpr OpShape kPredicate = {.operands = "x", .is_predicate = true};
#define OPSERVE_OPERANDS_Predicate(CONDITION, VALUE) VALUE x

// T(c, x, y)
inline constexpr OpShape kSelect = {.operands = "cxy", .moves_bits = true};
#define OPSERVE_OPERANDS_Select(CONDITION, VALUE) CONDITION c, VALUE x, VALUE y

}  // namespace op_shapes
}  // namespace opserve

#endif  // OPSERVE_KERNELS_OP_SHAPE_H_
