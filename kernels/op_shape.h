// File: kernels/op_shape.h
//
// Shapes of operators: the signature of the kernel that computes one element, or one row of them.
// Each row of kernels/operators.def names the shape of its operator, and a name that is not here
// does not compile. This is the only place that says what a shape means; what is different for each
// shape beside these facts is how a kernel loads and stores its elements, which
// kernels/cpu/shapes-inl.h and kernels/reference_shapes.h say. Constants; safe to use from any
// thread.

#ifndef OPSERVE_KERNELS_OP_SHAPE_H_
#define OPSERVE_KERNELS_OP_SHAPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace opserve {

// What a kernel gives for one element.
enum class OpResult : uint8_t {
  kValue,  // an element of the lane type
  kFlag,   // 0 or 1, in UINT8 or UINT32 as the caller chooses
  kCount,  // a small number, likewise
};

// The signature of a kernel. Every input of an operator has either elements of the lane type, for
// which the kernel is made; or conditions: UINT8, where 0 stands for false; or numbers of a type of
// its own with fewer than 64 bits, which kernels get as FLOAT64, and zeros where they are absent.
// Where no input is of the lane type, the output's type is that.
struct OpShape {
  // One letter per input, in the operator's order: what kernel expressions call its element. 'c'
  // is a condition, 'x' and 'y' are of the lane type, the others numbers of types of their own.
  absl::string_view operands = {};
  OpResult result = OpResult::kValue;
  // Whether elements are bits and never numbers. Types of one size then share a kernel, and a NaN
  // is a pattern like any other.
  bool is_bitwise = false;
  // Whether each result is one of the inputs as it is, so that nothing is read out of the bits.
  bool only_moves = false;
  // Whether a kernel computes a row of elements at a time, each from all of them. Calls then have
  // no element that can be computed alone.
  bool is_row = false;
  // Whether kernels of integers come in two kinds: for numbers of integer types, and of others.
  bool tells_integers = false;

  constexpr int input_count() const { return static_cast<int>(operands.size()); }

  // Whether input `i` holds conditions.
  constexpr bool is_condition(int i) const { return operands[static_cast<size_t>(i)] == 'c'; }

  // Whether input `i` holds numbers of a type of its own.
  constexpr bool is_number(int i) const { return !is_condition(i) && !is_lane(i); }

  // Whether input `i` is of the lane type.
  constexpr bool is_lane(int i) const {
    const char letter = operands[static_cast<size_t>(i)];
    return letter == 'x' || letter == 'y';
  }

  // The first input that holds numbers of a type of its own; input_count() if there is none.
  constexpr int number_input() const {
    int i = 0;
    while (i < input_count() && !is_number(i)) ++i;
    return i;
  }

  // The first input of the lane type; input_count() if there is none.
  constexpr int lane_input() const {
    int i = 0;
    while (i < input_count() && !is_lane(i)) ++i;
    return i;
  }
};

// The shapes, and for each the parameters of a function whose body is a kernel expression:
// OPSERVE_OPERANDS_shape declares c as CONDITION, others as VALUE, and e as the driver has it.
namespace op_shapes {

// T(x)
inline constexpr OpShape kUnary = {.operands = "x"};
#define OPSERVE_OPERANDS_Unary(CONDITION, VALUE) VALUE x

// T(x, y)
inline constexpr OpShape kBinary = {.operands = "xy"};
#define OPSERVE_OPERANDS_Binary(CONDITION, VALUE) VALUE x, VALUE y

// T(x, e)
inline constexpr OpShape kPower = {.operands = "xe", .tells_integers = true};
#define OPSERVE_OPERANDS_Power(CONDITION, VALUE) VALUE x, const auto &e

// T(v, s, z): a value, a scale and a zero point
inline constexpr OpShape kQuantization = {.operands = "vsz"};
#define OPSERVE_OPERANDS_Quantization(CONDITION, VALUE) VALUE v, VALUE s, VALUE z

// T(a, s, z, b, t, w, r, u): two values with scales and zero points, and those of the result
inline constexpr OpShape kQuantizedSum = {.operands = "aszbtwru"};
#define OPSERVE_OPERANDS_QuantizedSum(CONDITION, VALUE) \
  VALUE a, VALUE s, VALUE z, VALUE b, VALUE t, VALUE w, VALUE r, VALUE u

// bool(x)
inline constexpr OpShape kPredicate = {.operands = "x", .result = OpResult::kFlag};
#define OPSERVE_OPERANDS_Predicate(CONDITION, VALUE) VALUE x

// bool(x, y)
inline constexpr OpShape kComparison = {.operands = "xy", .result = OpResult::kFlag};
#define OPSERVE_OPERANDS_Comparison(CONDITION, VALUE) VALUE x, VALUE y

// number(x)
inline constexpr OpShape kCount = {.operands = "x", .result = OpResult::kCount, .is_bitwise = true};
#define OPSERVE_OPERANDS_Count(CONDITION, VALUE) VALUE x

// T(c, x, y)
inline constexpr OpShape kSelect = {.operands = "cxy", .is_bitwise = true, .only_moves = true};
#define OPSERVE_OPERANDS_Select(CONDITION, VALUE) CONDITION c, VALUE x, VALUE y

// x
inline constexpr OpShape kMove = {.operands = "x", .is_bitwise = true, .only_moves = true};
#define OPSERVE_OPERANDS_Move(CONDITION, VALUE) VALUE x

// T(x)
inline constexpr OpShape kBits = {.operands = "x", .is_bitwise = true};
#define OPSERVE_OPERANDS_Bits(CONDITION, VALUE) VALUE x

// T(x, y)
inline constexpr OpShape kBitPair = {.operands = "xy", .is_bitwise = true};
#define OPSERVE_OPERANDS_BitPair(CONDITION, VALUE) VALUE x, VALUE y

// A row of T from a row x of as many
inline constexpr OpShape kRow = {.operands = "x", .is_row = true};
#define OPSERVE_OPERANDS_Row(CONDITION, VALUE) VALUE x

}  // namespace op_shapes
}  // namespace opserve

#endif  // OPSERVE_KERNELS_OP_SHAPE_H_
