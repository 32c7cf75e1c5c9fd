// File: opserve/ops.h
//
// The call of each operator as a function with typed attributes, and the operators' names. Made
// from the operator table by `make ops`; do not edit.
//
//   auto y = client->Execute(ops::Round(x, RoundingMode::kTowardZero));
//
// A function checks nothing; the server does. What is neither a tensor nor an attribute, such as
// the device, is a member of the call that it returns. The views of tensors must stay valid as
// those of any call. Everything here is stateless and safe to use from any thread.

#ifndef OPSERVE_OPS_H_
#define OPSERVE_OPS_H_

// clang-format off

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "opserve/call.h"
#include "opserve/tensor.h"

namespace opserve {

enum class InfinityMode : int32_t {
  kEither = 0,  // +inf or -inf
  kPositive = 1,  // +inf only
  kNegative = 2,  // -inf only
};

enum class RoundingMode : int32_t {
  kHalvesToNearestEven = 0,  // nearest integer, ties to even
  kTowardZero = 1,  // truncate
  kTowardInfinity = 2,  // nearest integer, ties away from zero
};

namespace ops {

// Each element x of the first input is replaced by x * scale + bias, in its own type, first.
struct ScaleBias {
  float scale = 1;
  float bias = 0;
};

// An activation that is computed of each rounded result; the functions Fused... make one.
struct FusedActivation {
  std::vector<Attribute> attributes = {};
};

namespace internal {

// A number in the type of the tensors.
template <TensorElement T>
Attribute ScalarOf(const char* name, T value) {
  if constexpr (!std::is_integral_v<T>) {
    return {name, static_cast<double>(value)};
  } else if constexpr (std::is_signed_v<T>) {
    return {name, static_cast<int64_t>(value)};
  } else {
    return {name, static_cast<uint64_t>(value)};
  }
}

template <>
inline Attribute ScalarOf<Half>(const char* name, Half value) {
  return {name, double{static_cast<float>(value)}};
}

inline TensorView Named(const char* name, TensorView tensor) {
  tensor.set_name(name);
  return tensor;
}

inline void Add(const char* name, const std::optional<TensorView>& tensor, OperatorCall& call) {
  if (tensor) call.inputs.push_back(Named(name, *tensor));
}

inline void Add(const std::optional<ScaleBias>& scale_bias, OperatorCall& call) {
  if (!scale_bias) return;
  call.attributes.push_back({"ScaleBias.Scale", double{scale_bias->scale}});
  call.attributes.push_back({"ScaleBias.Bias", double{scale_bias->bias}});
}

inline void Add(const std::optional<FusedActivation>& activation, OperatorCall& call) {
  if (!activation) return;
  call.attributes.insert(call.attributes.end(), activation->attributes.begin(),
                         activation->attributes.end());
}

}  // namespace internal

// The operators' names.
inline constexpr char kElementWiseAbs[] = "ELEMENT_WISE_ABS";
inline constexpr char kElementWiseBitAnd[] = "ELEMENT_WISE_BIT_AND";
inline constexpr char kElementWiseBitCount[] = "ELEMENT_WISE_BIT_COUNT";
inline constexpr char kElementWiseBitNot[] = "ELEMENT_WISE_BIT_NOT";
inline constexpr char kElementWiseBitOr[] = "ELEMENT_WISE_BIT_OR";
inline constexpr char kElementWiseBitShiftLeft[] = "ELEMENT_WISE_BIT_SHIFT_LEFT";
inline constexpr char kElementWiseBitShiftRight[] = "ELEMENT_WISE_BIT_SHIFT_RIGHT";
inline constexpr char kElementWiseBitXor[] = "ELEMENT_WISE_BIT_XOR";
inline constexpr char kElementWiseIdentity[] = "ELEMENT_WISE_IDENTITY";
inline constexpr char kElementWiseIf[] = "ELEMENT_WISE_IF";
inline constexpr char kElementWiseNegate[] = "ELEMENT_WISE_NEGATE";
inline constexpr char kElementWiseIsInfinity[] = "ELEMENT_WISE_IS_INFINITY";
inline constexpr char kElementWiseIsNan[] = "ELEMENT_WISE_IS_NAN";
inline constexpr char kElementWiseLogicalAnd[] = "ELEMENT_WISE_LOGICAL_AND";
inline constexpr char kElementWiseLogicalEquals[] = "ELEMENT_WISE_LOGICAL_EQUALS";
inline constexpr char kElementWiseLogicalGreaterThan[] = "ELEMENT_WISE_LOGICAL_GREATER_THAN";
inline constexpr char kElementWiseLogicalGreaterThanOrEqual[] = "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL";
inline constexpr char kElementWiseLogicalLessThan[] = "ELEMENT_WISE_LOGICAL_LESS_THAN";
inline constexpr char kElementWiseLogicalLessThanOrEqual[] = "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL";
inline constexpr char kElementWiseLogicalNot[] = "ELEMENT_WISE_LOGICAL_NOT";
inline constexpr char kElementWiseLogicalOr[] = "ELEMENT_WISE_LOGICAL_OR";
inline constexpr char kElementWiseLogicalXor[] = "ELEMENT_WISE_LOGICAL_XOR";
inline constexpr char kElementWiseSign[] = "ELEMENT_WISE_SIGN";
inline constexpr char kElementWiseClip[] = "ELEMENT_WISE_CLIP";
inline constexpr char kElementWiseClip1[] = "ELEMENT_WISE_CLIP1";
inline constexpr char kElementWiseClipGrad[] = "ELEMENT_WISE_CLIP_GRAD";
inline constexpr char kElementWiseClipGrad1[] = "ELEMENT_WISE_CLIP_GRAD1";
inline constexpr char kElementWiseMax[] = "ELEMENT_WISE_MAX";
inline constexpr char kElementWiseMin[] = "ELEMENT_WISE_MIN";
inline constexpr char kElementWiseThreshold[] = "ELEMENT_WISE_THRESHOLD";
inline constexpr char kElementWiseCeil[] = "ELEMENT_WISE_CEIL";
inline constexpr char kElementWiseFloor[] = "ELEMENT_WISE_FLOOR";
inline constexpr char kElementWiseModulusFloor[] = "ELEMENT_WISE_MODULUS_FLOOR";
inline constexpr char kElementWiseModulusTruncate[] = "ELEMENT_WISE_MODULUS_TRUNCATE";
inline constexpr char kElementWiseRound[] = "ELEMENT_WISE_ROUND";
inline constexpr char kElementWiseAdd[] = "ELEMENT_WISE_ADD";
inline constexpr char kElementWiseAdd1[] = "ELEMENT_WISE_ADD1";
inline constexpr char kElementWiseDifferenceSquare[] = "ELEMENT_WISE_DIFFERENCE_SQUARE";
inline constexpr char kElementWiseDivide[] = "ELEMENT_WISE_DIVIDE";
inline constexpr char kElementWiseMean[] = "ELEMENT_WISE_MEAN";
inline constexpr char kElementWiseMultiply[] = "ELEMENT_WISE_MULTIPLY";
inline constexpr char kElementWiseRecip[] = "ELEMENT_WISE_RECIP";
inline constexpr char kElementWiseSqrt[] = "ELEMENT_WISE_SQRT";
inline constexpr char kElementWiseSubtract[] = "ELEMENT_WISE_SUBTRACT";
inline constexpr char kElementWiseAcos[] = "ELEMENT_WISE_ACOS";
inline constexpr char kElementWiseAcosh[] = "ELEMENT_WISE_ACOSH";
inline constexpr char kElementWiseAsin[] = "ELEMENT_WISE_ASIN";
inline constexpr char kElementWiseAsinh[] = "ELEMENT_WISE_ASINH";
inline constexpr char kElementWiseAtan[] = "ELEMENT_WISE_ATAN";
inline constexpr char kElementWiseAtanh[] = "ELEMENT_WISE_ATANH";
inline constexpr char kElementWiseAtanYx[] = "ELEMENT_WISE_ATAN_YX";
inline constexpr char kElementWiseConstantPow[] = "ELEMENT_WISE_CONSTANT_POW";
inline constexpr char kElementWiseCos[] = "ELEMENT_WISE_COS";
inline constexpr char kElementWiseCosh[] = "ELEMENT_WISE_COSH";
inline constexpr char kElementWiseErf[] = "ELEMENT_WISE_ERF";
inline constexpr char kElementWiseExp[] = "ELEMENT_WISE_EXP";
inline constexpr char kElementWiseLog[] = "ELEMENT_WISE_LOG";
inline constexpr char kElementWisePow[] = "ELEMENT_WISE_POW";
inline constexpr char kElementWiseSin[] = "ELEMENT_WISE_SIN";
inline constexpr char kElementWiseSinh[] = "ELEMENT_WISE_SINH";
inline constexpr char kElementWiseTan[] = "ELEMENT_WISE_TAN";
inline constexpr char kElementWiseTanh[] = "ELEMENT_WISE_TANH";
inline constexpr char kActivationCelu[] = "ACTIVATION_CELU";
inline constexpr char kActivationElu[] = "ACTIVATION_ELU";
inline constexpr char kActivationGelu[] = "ACTIVATION_GELU";
inline constexpr char kActivationHardSigmoid[] = "ACTIVATION_HARD_SIGMOID";
inline constexpr char kActivationHardSwish[] = "ACTIVATION_HARD_SWISH";
inline constexpr char kActivationIdentity[] = "ACTIVATION_IDENTITY";
inline constexpr char kActivationLeakyRelu[] = "ACTIVATION_LEAKY_RELU";
inline constexpr char kActivationLinear[] = "ACTIVATION_LINEAR";
inline constexpr char kActivationParameterizedRelu[] = "ACTIVATION_PARAMETERIZED_RELU";
inline constexpr char kActivationParametricSoftplus[] = "ACTIVATION_PARAMETRIC_SOFTPLUS";
inline constexpr char kActivationRelu[] = "ACTIVATION_RELU";
inline constexpr char kActivationReluGrad[] = "ACTIVATION_RELU_GRAD";
inline constexpr char kActivationScaledElu[] = "ACTIVATION_SCALED_ELU";
inline constexpr char kActivationScaledTanh[] = "ACTIVATION_SCALED_TANH";
inline constexpr char kActivationShrink[] = "ACTIVATION_SHRINK";
inline constexpr char kActivationSigmoid[] = "ACTIVATION_SIGMOID";
inline constexpr char kActivationSoftplus[] = "ACTIVATION_SOFTPLUS";
inline constexpr char kActivationSoftsign[] = "ACTIVATION_SOFTSIGN";
inline constexpr char kActivationSwish[] = "ACTIVATION_SWISH";
inline constexpr char kActivationTanh[] = "ACTIVATION_TANH";
inline constexpr char kActivationThresholdedRelu[] = "ACTIVATION_THRESHOLDED_RELU";
inline constexpr char kElementWiseDequantizeLinear[] = "ELEMENT_WISE_DEQUANTIZE_LINEAR";
inline constexpr char kElementWiseQuantizedLinearAdd[] = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD";
inline constexpr char kElementWiseQuantizeLinear[] = "ELEMENT_WISE_QUANTIZE_LINEAR";
inline constexpr char kActivationHardmax[] = "ACTIVATION_HARDMAX";
inline constexpr char kActivationHardmax1[] = "ACTIVATION_HARDMAX1";
inline constexpr char kActivationLogSoftmax[] = "ACTIVATION_LOG_SOFTMAX";
inline constexpr char kActivationLogSoftmax1[] = "ACTIVATION_LOG_SOFTMAX1";
inline constexpr char kActivationSoftmax[] = "ACTIVATION_SOFTMAX";
inline constexpr char kActivationSoftmax1[] = "ACTIVATION_SOFTMAX1";

// Takes the magnitude; of integers of 8 and 16 bits saturated: OutputTensor = abs(InputTensor).
inline OperatorCall Abs(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAbs,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Combines the bits of A and B by AND: OutputTensor = ATensor & BTensor.
inline OperatorCall BitAnd(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseBitAnd,
          .attributes = {},
          .inputs = {a, b}};
}

// Counts the bits that are one: OutputTensor = popcount(InputTensor).
inline OperatorCall BitCount(const TensorView& input) {
  return {.operator_name = kElementWiseBitCount,
          .attributes = {},
          .inputs = {input}};
}

// Inverts all bits: OutputTensor = ~InputTensor.
inline OperatorCall BitNot(const TensorView& input) {
  return {.operator_name = kElementWiseBitNot,
          .attributes = {},
          .inputs = {input}};
}

// Combines the bits of A and B by OR: OutputTensor = ATensor | BTensor.
inline OperatorCall BitOr(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseBitOr,
          .attributes = {},
          .inputs = {a, b}};
}

// Shifts the bits of A up by B places; of B the low five bits count, of UINT64 six: OutputTensor =
// ATensor << (BTensor & 31).
inline OperatorCall BitShiftLeft(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseBitShiftLeft,
          .attributes = {},
          .inputs = {a, b}};
}

// Shifts the bits of A down by B places; of B the low five bits count, of UINT64 six: OutputTensor
// = ATensor >> (BTensor & 31).
inline OperatorCall BitShiftRight(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseBitShiftRight,
          .attributes = {},
          .inputs = {a, b}};
}

// Combines the bits of A and B by exclusive OR: OutputTensor = ATensor ^ BTensor.
inline OperatorCall BitXor(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseBitXor,
          .attributes = {},
          .inputs = {a, b}};
}

// Copies the elements, into another layout if the strides differ: OutputTensor = InputTensor.
inline OperatorCall Identity(const TensorView& input,
                             const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseIdentity,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Selects elements of A where the condition is not zero, elements of B elsewhere: OutputTensor =
// ConditionTensor != 0 ? ATensor : BTensor.
inline OperatorCall If(const TensorView& condition, const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseIf,
          .attributes = {},
          .inputs = {condition, a, b}};
}

// Changes the sign; integers of 8 and 16 bits saturate: OutputTensor = -InputTensor.
inline OperatorCall Negate(const TensorView& input) {
  return {.operator_name = kElementWiseNegate,
          .attributes = {},
          .inputs = {input}};
}

// Tells which elements are infinite, as 1 or 0: OutputTensor = isinf(InputTensor) && sign matches
// InfinityMode ? 1 : 0.
inline OperatorCall IsInfinity(const TensorView& input, InfinityMode infinity_mode) {
  return {.operator_name = kElementWiseIsInfinity,
          .attributes = {{"InfinityMode", static_cast<int64_t>(infinity_mode)}},
          .inputs = {input}};
}

// Tells which elements are NaN, as 1 or 0: OutputTensor = isnan(InputTensor) ? 1 : 0.
inline OperatorCall IsNan(const TensorView& input) {
  return {.operator_name = kElementWiseIsNan,
          .attributes = {},
          .inputs = {input}};
}

// Tells where both A and B are true, that is not zero: OutputTensor = ATensor && BTensor ? 1 : 0.
inline OperatorCall LogicalAnd(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalAnd,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells where A is equal to B; false for NaN: OutputTensor = ATensor == BTensor ? 1 : 0.
inline OperatorCall LogicalEquals(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalEquals,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells where A is greater than B; false for NaN: OutputTensor = ATensor > BTensor ? 1 : 0.
inline OperatorCall LogicalGreaterThan(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalGreaterThan,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells where A is greater than or equal to B; false for NaN: OutputTensor = ATensor >= BTensor ? 1
// : 0.
inline OperatorCall LogicalGreaterThanOrEqual(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalGreaterThanOrEqual,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells where A is less than B; false for NaN: OutputTensor = ATensor < BTensor ? 1 : 0.
inline OperatorCall LogicalLessThan(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalLessThan,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells where A is less than or equal to B; false for NaN: OutputTensor = ATensor <= BTensor ? 1 :
// 0.
inline OperatorCall LogicalLessThanOrEqual(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalLessThanOrEqual,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells which elements are zero, that is false: OutputTensor = InputTensor == 0 ? 1 : 0.
inline OperatorCall LogicalNot(const TensorView& input) {
  return {.operator_name = kElementWiseLogicalNot,
          .attributes = {},
          .inputs = {input}};
}

// Tells where A or B is true, that is not zero: OutputTensor = ATensor || BTensor ? 1 : 0.
inline OperatorCall LogicalOr(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalOr,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells where one of A and B is true, that is not zero, and the other is not: OutputTensor =
// (ATensor != 0) != (BTensor != 0) ? 1 : 0.
inline OperatorCall LogicalXor(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseLogicalXor,
          .attributes = {},
          .inputs = {a, b}};
}

// Tells the sign as -1, 0 or 1; 0 for NaN: OutputTensor = InputTensor < 0 ? -1 : InputTensor > 0 ?
// 1 : 0.
inline OperatorCall Sign(const TensorView& input) {
  return {.operator_name = kElementWiseSign,
          .attributes = {},
          .inputs = {input}};
}

// Limits elements to Min to Max; Min wins over Max, and NaN becomes Max: OutputTensor = max(Min,
// min(InputTensor, Max)).
inline OperatorCall Clip(const TensorView& input,
                         float min,
                         float max,
                         const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseClip,
                       .attributes = {{"Min", double{min}}, {"Max", double{max}}},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// As ELEMENT_WISE_CLIP, with limits of the tensors' type: OutputTensor = max(Min, min(InputTensor,
// Max)).
template <TensorElement T>
OperatorCall Clip1(const TensorView& input,
                   T min,
                   T max,
                   const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseClip1,
                       .attributes = {{"MinMaxDataType", std::string(NameOf(kDataTypeOf<T>))},
                                      internal::ScalarOf("Min", min),
                                      internal::ScalarOf("Max", max)},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Passes the gradient where Min < x < Max, and 0 elsewhere: OutputGradientTensor = Min <
// InputTensor && InputTensor < Max ? InputGradientTensor : 0.
inline OperatorCall ClipGrad(const TensorView& input,
                             const TensorView& input_gradient,
                             float min,
                             float max) {
  return {.operator_name = kElementWiseClipGrad,
          .attributes = {{"Min", double{min}}, {"Max", double{max}}},
          .inputs = {input, input_gradient}};
}

// As ELEMENT_WISE_CLIP_GRAD, with limits of the tensors' type: OutputGradientTensor = Min <
// InputTensor && InputTensor < Max ? InputGradientTensor : 0.
template <TensorElement T>
OperatorCall ClipGrad1(const TensorView& input, const TensorView& input_gradient, T min, T max) {
  return {.operator_name = kElementWiseClipGrad1,
          .attributes = {{"MinMaxDataType", std::string(NameOf(kDataTypeOf<T>))},
                         internal::ScalarOf("Min", min),
                         internal::ScalarOf("Max", max)},
          .inputs = {input, input_gradient}};
}

// Takes the greater element; A where neither is, the other where one is NaN: OutputTensor =
// max(ATensor, BTensor).
inline OperatorCall Max(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseMax,
          .attributes = {},
          .inputs = {a, b}};
}

// Takes the lesser element; A where neither is, the other where one is NaN: OutputTensor =
// min(ATensor, BTensor).
inline OperatorCall Min(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseMin,
          .attributes = {},
          .inputs = {a, b}};
}

// Raises elements below Min, and NaN, to Min: OutputTensor = max(Min, InputTensor).
inline OperatorCall Threshold(const TensorView& input,
                              float min,
                              const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseThreshold,
                       .attributes = {{"Min", double{min}}},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Rounds up to the next integral value: OutputTensor = ceil(InputTensor).
inline OperatorCall Ceil(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseCeil,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Rounds down to the next integral value: OutputTensor = floor(InputTensor).
inline OperatorCall Floor(const TensorView& input,
                          const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseFloor,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the remainder of the floored division of A by B, with the sign of B: OutputTensor =
// ATensor - BTensor * floor(ATensor / BTensor), rounded once.
inline OperatorCall ModulusFloor(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseModulusFloor,
          .attributes = {},
          .inputs = {a, b}};
}

// Computes the remainder of the truncated division of A by B, with the sign of A: OutputTensor =
// ATensor - BTensor * trunc(ATensor / BTensor), exact like C fmod.
inline OperatorCall ModulusTruncate(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseModulusTruncate,
          .attributes = {},
          .inputs = {a, b}};
}

// Rounds to an integral value: OutputTensor = round(InputTensor) by RoundingMode.
inline OperatorCall Round(const TensorView& input, RoundingMode rounding_mode) {
  return {.operator_name = kElementWiseRound,
          .attributes = {{"RoundingMode", static_cast<int64_t>(rounding_mode)}},
          .inputs = {input}};
}

// Adds A and B; integers wrap: OutputTensor = ATensor + BTensor.
inline OperatorCall Add(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseAdd,
          .attributes = {},
          .inputs = {a, b}};
}

// Adds A and B, and computes an activation of the rounded sum: OutputTensor =
// FusedActivation(ATensor + BTensor).
inline OperatorCall Add1(const TensorView& a,
                         const TensorView& b,
                         const std::optional<FusedActivation>& fused_activation = {}) {
  OperatorCall call = {.operator_name = kElementWiseAdd1,
                       .attributes = {},
                       .inputs = {a, b}};
  internal::Add(fused_activation, call);
  return call;
}

// Squares the difference of A and B; integers wrap: OutputTensor = (ATensor - BTensor)^2, rounded
// once.
inline OperatorCall DifferenceSquare(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseDifferenceSquare,
          .attributes = {},
          .inputs = {a, b}};
}

// Divides A by B; integers toward zero: OutputTensor = ATensor / BTensor.
inline OperatorCall Divide(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseDivide,
          .attributes = {},
          .inputs = {a, b}};
}

// Takes the middle of A and B without overflow; of integers toward zero: OutputTensor = (ATensor +
// BTensor) / 2, rounded once.
inline OperatorCall Mean(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseMean,
          .attributes = {},
          .inputs = {a, b}};
}

// Multiplies A and B; integers wrap: OutputTensor = ATensor * BTensor.
inline OperatorCall Multiply(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseMultiply,
          .attributes = {},
          .inputs = {a, b}};
}

// Takes the reciprocal: OutputTensor = 1 / InputTensor.
inline OperatorCall Recip(const TensorView& input,
                          const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseRecip,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Takes the square root: OutputTensor = sqrt(InputTensor).
inline OperatorCall Sqrt(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseSqrt,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Subtracts B from A; integers wrap: OutputTensor = ATensor - BTensor.
inline OperatorCall Subtract(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseSubtract,
          .attributes = {},
          .inputs = {a, b}};
}

// Computes the arc cosine: OutputTensor = acos(InputTensor), rounded once.
inline OperatorCall Acos(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAcos,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the area hyperbolic cosine: OutputTensor = acosh(InputTensor), rounded once.
inline OperatorCall Acosh(const TensorView& input,
                          const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAcosh,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the arc sine: OutputTensor = asin(InputTensor), rounded once.
inline OperatorCall Asin(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAsin,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the area hyperbolic sine: OutputTensor = asinh(InputTensor), rounded once.
inline OperatorCall Asinh(const TensorView& input,
                          const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAsinh,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the arc tangent: OutputTensor = atan(InputTensor), rounded once.
inline OperatorCall Atan(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAtan,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the area hyperbolic tangent: OutputTensor = atanh(InputTensor), rounded once.
inline OperatorCall Atanh(const TensorView& input,
                          const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseAtanh,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the angle of the point (B, A), of all four quadrants: OutputTensor = atan2(ATensor,
// BTensor), rounded once.
inline OperatorCall AtanYx(const TensorView& a, const TensorView& b) {
  return {.operator_name = kElementWiseAtanYx,
          .attributes = {},
          .inputs = {a, b}};
}

// Raises to a constant power: OutputTensor = pow(InputTensor, Exponent), rounded once.
inline OperatorCall ConstantPow(const TensorView& input,
                                float exponent,
                                const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseConstantPow,
                       .attributes = {{"Exponent", double{exponent}}},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the cosine: OutputTensor = cos(InputTensor), rounded once.
inline OperatorCall Cos(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseCos,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the hyperbolic cosine: OutputTensor = cosh(InputTensor), rounded once.
inline OperatorCall Cosh(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseCosh,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the error function: OutputTensor = erf(InputTensor), rounded once.
inline OperatorCall Erf(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseErf,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the exponential function: OutputTensor = exp(InputTensor), rounded once.
inline OperatorCall Exp(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseExp,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the natural logarithm: OutputTensor = log(InputTensor), rounded once.
inline OperatorCall Log(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseLog,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Raises elements to powers of any type; of integers saturated, or wrapped where of 32 bits:
// OutputTensor = InputTensor ^ ExponentTensor, rounded once.
inline OperatorCall Pow(const TensorView& input,
                        const TensorView& exponent,
                        const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWisePow,
                       .attributes = {},
                       .inputs = {input, exponent}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the sine: OutputTensor = sin(InputTensor), rounded once.
inline OperatorCall Sin(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseSin,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the hyperbolic sine: OutputTensor = sinh(InputTensor), rounded once.
inline OperatorCall Sinh(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseSinh,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the tangent: OutputTensor = tan(InputTensor), rounded once.
inline OperatorCall Tan(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseTan,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Computes the hyperbolic tangent: OutputTensor = tanh(InputTensor), rounded once.
inline OperatorCall Tanh(const TensorView& input, const std::optional<ScaleBias>& scale_bias = {}) {
  OperatorCall call = {.operator_name = kElementWiseTanh,
                       .attributes = {},
                       .inputs = {input}};
  internal::Add(scale_bias, call);
  return call;
}

// Replaces what is less than zero by a scaled exponential: OutputTensor = max(0, InputTensor) +
// min(0, Alpha * (exp(InputTensor / Alpha) - 1)), rounded once.
inline OperatorCall ActivationCelu(const TensorView& input, float alpha) {
  return {.operator_name = kActivationCelu,
          .attributes = {{"Alpha", double{alpha}}},
          .inputs = {input}};
}

// Replaces what is less than zero by an exponential: OutputTensor = InputTensor >= 0 ? InputTensor
// : Alpha * (exp(InputTensor) - 1), rounded once.
inline OperatorCall ActivationElu(const TensorView& input, float alpha) {
  return {.operator_name = kActivationElu,
          .attributes = {{"Alpha", double{alpha}}},
          .inputs = {input}};
}

// Multiplies by the normal distribution function: OutputTensor = 0.5 * InputTensor * (1 +
// erf(InputTensor / sqrt(2))), rounded once.
inline OperatorCall ActivationGelu(const TensorView& input) {
  return {.operator_name = kActivationGelu,
          .attributes = {},
          .inputs = {input}};
}

// Limits a linear function to 0 to 1; 0 for NaN: OutputTensor = max(0, min(Alpha * InputTensor +
// Beta, 1)).
inline OperatorCall ActivationHardSigmoid(const TensorView& input, float alpha, float beta) {
  return {.operator_name = kActivationHardSigmoid,
          .attributes = {{"Alpha", double{alpha}}, {"Beta", double{beta}}},
          .inputs = {input}};
}

// Multiplies by a linear function that is limited to 0 to 1: OutputTensor = InputTensor * max(0,
// min(Alpha * InputTensor + Beta, 1)), rounded once.
inline OperatorCall ActivationHardSwish(const TensorView& input, float alpha, float beta) {
  return {.operator_name = kActivationHardSwish,
          .attributes = {{"Alpha", double{alpha}}, {"Beta", double{beta}}},
          .inputs = {input}};
}

// Copies the elements: OutputTensor = InputTensor.
inline OperatorCall ActivationIdentity(const TensorView& input) {
  return {.operator_name = kActivationIdentity,
          .attributes = {},
          .inputs = {input}};
}

// Multiplies what is less than zero by Alpha: OutputTensor = InputTensor >= 0 ? InputTensor : Alpha
// * InputTensor.
inline OperatorCall ActivationLeakyRelu(const TensorView& input, float alpha) {
  return {.operator_name = kActivationLeakyRelu,
          .attributes = {{"Alpha", double{alpha}}},
          .inputs = {input}};
}

// Computes a linear function: OutputTensor = Alpha * InputTensor + Beta, rounded once.
inline OperatorCall ActivationLinear(const TensorView& input, float alpha, float beta) {
  return {.operator_name = kActivationLinear,
          .attributes = {{"Alpha", double{alpha}}, {"Beta", double{beta}}},
          .inputs = {input}};
}

// Multiplies what is less than zero by a slope; integers wrap: OutputTensor = InputTensor >= 0 ?
// InputTensor : SlopeTensor * InputTensor.
inline OperatorCall ActivationParameterizedRelu(const TensorView& input, const TensorView& slope) {
  return {.operator_name = kActivationParameterizedRelu,
          .attributes = {},
          .inputs = {input, slope}};
}

// Approximates max(0, x) smoothly, scaled: OutputTensor = Alpha * log(1 + exp(Beta * InputTensor)),
// rounded once.
inline OperatorCall ActivationParametricSoftplus(const TensorView& input, float alpha, float beta) {
  return {.operator_name = kActivationParametricSoftplus,
          .attributes = {{"Alpha", double{alpha}}, {"Beta", double{beta}}},
          .inputs = {input}};
}

// Replaces what is not greater than zero, and NaN, by zero: OutputTensor = max(0, InputTensor).
inline OperatorCall ActivationRelu(const TensorView& input) {
  return {.operator_name = kActivationRelu,
          .attributes = {},
          .inputs = {input}};
}

// Passes the gradient where the input is greater than zero, and 0 elsewhere: OutputGradientTensor =
// InputTensor > 0 ? InputGradientTensor : 0.
inline OperatorCall ActivationReluGrad(const TensorView& input, const TensorView& input_gradient) {
  return {.operator_name = kActivationReluGrad,
          .attributes = {},
          .inputs = {input, input_gradient}};
}

// Scales, and replaces what is less than zero by an exponential: OutputTensor = Gamma *
// (InputTensor >= 0 ? InputTensor : Alpha * (exp(InputTensor) - 1)), rounded once.
inline OperatorCall ActivationScaledElu(const TensorView& input, float alpha, float gamma) {
  return {.operator_name = kActivationScaledElu,
          .attributes = {{"Alpha", double{alpha}}, {"Gamma", double{gamma}}},
          .inputs = {input}};
}

// Computes the hyperbolic tangent, scaled: OutputTensor = Alpha * tanh(Beta * InputTensor), rounded
// once.
inline OperatorCall ActivationScaledTanh(const TensorView& input, float alpha, float beta) {
  return {.operator_name = kActivationScaledTanh,
          .attributes = {{"Alpha", double{alpha}}, {"Beta", double{beta}}},
          .inputs = {input}};
}

// Moves elements beyond Threshold by Bias toward zero; others, and NaN, become zero: OutputTensor =
// InputTensor > Threshold ? InputTensor - Bias : InputTensor < -Threshold ? InputTensor + Bias : 0.
inline OperatorCall ActivationShrink(const TensorView& input, float bias, float threshold) {
  return {.operator_name = kActivationShrink,
          .attributes = {{"Bias", double{bias}}, {"Threshold", double{threshold}}},
          .inputs = {input}};
}

// Computes the logistic function: OutputTensor = 1 / (1 + exp(-InputTensor)), rounded once.
inline OperatorCall ActivationSigmoid(const TensorView& input) {
  return {.operator_name = kActivationSigmoid,
          .attributes = {},
          .inputs = {input}};
}

// Approximates max(0, x) smoothly: OutputTensor = log(1 + exp(Steepness * InputTensor)) /
// Steepness, rounded once.
inline OperatorCall ActivationSoftplus(const TensorView& input, float steepness) {
  return {.operator_name = kActivationSoftplus,
          .attributes = {{"Steepness", double{steepness}}},
          .inputs = {input}};
}

// Divides by one more than the magnitude: OutputTensor = InputTensor / (1 + abs(InputTensor)),
// rounded once.
inline OperatorCall ActivationSoftsign(const TensorView& input) {
  return {.operator_name = kActivationSoftsign,
          .attributes = {},
          .inputs = {input}};
}

// Multiplies by the logistic function: OutputTensor = InputTensor / (1 + exp(-SigmoidInputScale *
// InputTensor)), rounded once.
inline OperatorCall ActivationSwish(const TensorView& input, float sigmoid_input_scale) {
  return {.operator_name = kActivationSwish,
          .attributes = {{"SigmoidInputScale", double{sigmoid_input_scale}}},
          .inputs = {input}};
}

// Computes the hyperbolic tangent: OutputTensor = tanh(InputTensor), rounded once.
inline OperatorCall ActivationTanh(const TensorView& input) {
  return {.operator_name = kActivationTanh,
          .attributes = {},
          .inputs = {input}};
}

// Replaces what is not greater than Alpha by zero: OutputTensor = InputTensor > Alpha ? InputTensor
// : 0.
inline OperatorCall ActivationThresholdedRelu(const TensorView& input, float alpha) {
  return {.operator_name = kActivationThresholdedRelu,
          .attributes = {{"Alpha", double{alpha}}},
          .inputs = {input}};
}

// Gives integers with a scale and a zero point as floats; without a zero point it is 0:
// OutputTensor = (InputTensor - ZeroPointTensor) * ScaleTensor, rounded once.
inline OperatorCall DequantizeLinear(const TensorView& input,
                                     const TensorView& scale,
                                     const std::optional<TensorView>& zero_point = {}) {
  OperatorCall call = {.operator_name = kElementWiseDequantizeLinear,
                       .attributes = {},
                       .inputs = {internal::Named("InputTensor", input),
                                  internal::Named("ScaleTensor", scale)}};
  internal::Add("ZeroPointTensor", zero_point, call);
  return call;
}

// Adds quantised numbers; NaN becomes the least integer, absent zero points are 0: OutputTensor =
// clamp(rint((a + b) / OutputScaleTensor) + OutputZeroPointTensor), a = (ATensor -
// AZeroPointTensor) * AScaleTensor, b likewise.
inline OperatorCall QuantizedLinearAdd(const TensorView& a,
                                       const TensorView& a_scale,
                                       const TensorView& b,
                                       const TensorView& b_scale,
                                       const TensorView& output_scale,
                                       const std::optional<TensorView>& a_zero_point = {},
                                       const std::optional<TensorView>& b_zero_point = {},
                                       const std::optional<TensorView>& output_zero_point = {}) {
  OperatorCall call = {.operator_name = kElementWiseQuantizedLinearAdd,
                       .attributes = {},
                       .inputs = {internal::Named("ATensor", a),
                                  internal::Named("AScaleTensor", a_scale),
                                  internal::Named("BTensor", b),
                                  internal::Named("BScaleTensor", b_scale),
                                  internal::Named("OutputScaleTensor", output_scale)}};
  internal::Add("AZeroPointTensor", a_zero_point, call);
  internal::Add("BZeroPointTensor", b_zero_point, call);
  internal::Add("OutputZeroPointTensor", output_zero_point, call);
  return call;
}

// Gives quotients by a scale as integers; NaN becomes 0, an absent zero point is 0: OutputTensor =
// clamp(rint(InputTensor / ScaleTensor) + ZeroPointTensor).
inline OperatorCall QuantizeLinear(const TensorView& input,
                                   const TensorView& scale,
                                   const std::optional<TensorView>& zero_point = {}) {
  OperatorCall call = {.operator_name = kElementWiseQuantizeLinear,
                       .attributes = {},
                       .inputs = {internal::Named("InputTensor", input),
                                  internal::Named("ScaleTensor", scale)}};
  internal::Add("ZeroPointTensor", zero_point, call);
  return call;
}

// Gives 1 at the first maximum of each row along the last dimension, 0 elsewhere: OutputTensor = 1
// where InputTensor is the first maximum of its row, 0 elsewhere.
inline OperatorCall ActivationHardmax(const TensorView& input) {
  return {.operator_name = kActivationHardmax,
          .attributes = {},
          .inputs = {input}};
}

// Gives 1 at the first maximum of each row along Axes, 0 elsewhere: OutputTensor = 1 where
// InputTensor is the first maximum of its row, 0 elsewhere.
inline OperatorCall ActivationHardmax1(const TensorView& input, const Axes& axes) {
  return {.operator_name = kActivationHardmax1,
          .attributes = {{"Axes", axes}},
          .inputs = {input}};
}

// Computes the logarithm of the softmax of each row along the last dimension: OutputTensor =
// InputTensor - log(sum(exp(InputTensor))) of its row, rounded once.
inline OperatorCall ActivationLogSoftmax(const TensorView& input) {
  return {.operator_name = kActivationLogSoftmax,
          .attributes = {},
          .inputs = {input}};
}

// Computes the logarithm of the softmax of each row along Axes: OutputTensor = InputTensor -
// log(sum(exp(InputTensor))) of its row, rounded once.
inline OperatorCall ActivationLogSoftmax1(const TensorView& input, const Axes& axes) {
  return {.operator_name = kActivationLogSoftmax1,
          .attributes = {{"Axes", axes}},
          .inputs = {input}};
}

// Divides e^x by the sum of all such of its row along the last dimension: OutputTensor =
// exp(InputTensor) / sum(exp(InputTensor)) of its row, rounded once.
inline OperatorCall ActivationSoftmax(const TensorView& input) {
  return {.operator_name = kActivationSoftmax,
          .attributes = {},
          .inputs = {input}};
}

// Divides e^x by the sum of all such of its row along Axes: OutputTensor = exp(InputTensor) /
// sum(exp(InputTensor)) of its row, rounded once.
inline OperatorCall ActivationSoftmax1(const TensorView& input, const Axes& axes) {
  return {.operator_name = kActivationSoftmax1,
          .attributes = {{"Axes", axes}},
          .inputs = {input}};
}

inline FusedActivation FusedCelu(float alpha) {
  return {{{"FusedActivation", kActivationCelu}, {"FusedActivation.Alpha", double{alpha}}}};
}

inline FusedActivation FusedElu(float alpha) {
  return {{{"FusedActivation", kActivationElu}, {"FusedActivation.Alpha", double{alpha}}}};
}

inline FusedActivation FusedGelu() {
  return {{{"FusedActivation", kActivationGelu}}};
}

inline FusedActivation FusedHardSigmoid(float alpha, float beta) {
  return {{{"FusedActivation", kActivationHardSigmoid},
           {"FusedActivation.Alpha", double{alpha}},
           {"FusedActivation.Beta", double{beta}}}};
}

inline FusedActivation FusedIdentity() {
  return {{{"FusedActivation", kActivationIdentity}}};
}

inline FusedActivation FusedLeakyRelu(float alpha) {
  return {{{"FusedActivation", kActivationLeakyRelu}, {"FusedActivation.Alpha", double{alpha}}}};
}

inline FusedActivation FusedLinear(float alpha, float beta) {
  return {{{"FusedActivation", kActivationLinear},
           {"FusedActivation.Alpha", double{alpha}},
           {"FusedActivation.Beta", double{beta}}}};
}

inline FusedActivation FusedParametricSoftplus(float alpha, float beta) {
  return {{{"FusedActivation", kActivationParametricSoftplus},
           {"FusedActivation.Alpha", double{alpha}},
           {"FusedActivation.Beta", double{beta}}}};
}

inline FusedActivation FusedRelu() {
  return {{{"FusedActivation", kActivationRelu}}};
}

inline FusedActivation FusedScaledElu(float alpha, float gamma) {
  return {{{"FusedActivation", kActivationScaledElu},
           {"FusedActivation.Alpha", double{alpha}},
           {"FusedActivation.Gamma", double{gamma}}}};
}

inline FusedActivation FusedScaledTanh(float alpha, float beta) {
  return {{{"FusedActivation", kActivationScaledTanh},
           {"FusedActivation.Alpha", double{alpha}},
           {"FusedActivation.Beta", double{beta}}}};
}

inline FusedActivation FusedShrink(float bias, float threshold) {
  return {{{"FusedActivation", kActivationShrink},
           {"FusedActivation.Bias", double{bias}},
           {"FusedActivation.Threshold", double{threshold}}}};
}

inline FusedActivation FusedSigmoid() {
  return {{{"FusedActivation", kActivationSigmoid}}};
}

inline FusedActivation FusedSoftplus(float steepness) {
  return {{{"FusedActivation", kActivationSoftplus},
           {"FusedActivation.Steepness", double{steepness}}}};
}

inline FusedActivation FusedSoftsign() {
  return {{{"FusedActivation", kActivationSoftsign}}};
}

inline FusedActivation FusedTanh() {
  return {{{"FusedActivation", kActivationTanh}}};
}

inline FusedActivation FusedThresholdedRelu(float alpha) {
  return {{{"FusedActivation", kActivationThresholdedRelu},
           {"FusedActivation.Alpha", double{alpha}}}};
}

}  // namespace ops
}  // namespace opserve

// clang-format on

#endif  // OPSERVE_OPS_H_
