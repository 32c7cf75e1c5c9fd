"""The operators as methods. Made from the catalogue by `make python-operators`; do not edit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, Unpack

from opserve._core import Operation
from opserve._types import CallSettings, DataTypeName, Operand, Out

R_co = TypeVar("R_co", covariant=True)

InfinityMode = Literal["EITHER", "POSITIVE", "NEGATIVE"]
RoundingMode = Literal["HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"]

_ELEMENT_WISE_ABS = Operation(
    "ELEMENT_WISE_ABS",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_BIT_AND = Operation(
    "ELEMENT_WISE_BIT_AND",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_BIT_COUNT = Operation(
    "ELEMENT_WISE_BIT_COUNT",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_BIT_NOT = Operation(
    "ELEMENT_WISE_BIT_NOT",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ELEMENT_WISE_BIT_OR = Operation(
    "ELEMENT_WISE_BIT_OR",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_BIT_SHIFT_LEFT = Operation(
    "ELEMENT_WISE_BIT_SHIFT_LEFT",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_BIT_SHIFT_RIGHT = Operation(
    "ELEMENT_WISE_BIT_SHIFT_RIGHT",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_BIT_XOR = Operation(
    "ELEMENT_WISE_BIT_XOR",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_IDENTITY = Operation(
    "ELEMENT_WISE_IDENTITY",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_IF = Operation(
    "ELEMENT_WISE_IF",
    [
        ("ConditionTensor", "condition", False, [], [], False),
        ("ATensor", "a", False, [2], [], False),
        ("BTensor", "b", False, [1], [], False),
    ],
    [],
    [1, 2],
)
_ELEMENT_WISE_NEGATE = Operation(
    "ELEMENT_WISE_NEGATE",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ELEMENT_WISE_IS_INFINITY = Operation(
    "ELEMENT_WISE_IS_INFINITY",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [
        ("InfinityMode", False),
    ],
    [],
)
_ELEMENT_WISE_IS_NAN = Operation(
    "ELEMENT_WISE_IS_NAN",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_LOGICAL_AND = Operation(
    "ELEMENT_WISE_LOGICAL_AND",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_LOGICAL_EQUALS = Operation(
    "ELEMENT_WISE_LOGICAL_EQUALS",
    [
        ("ATensor", "a", False, [1], [], False),
        ("BTensor", "b", False, [0], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_LOGICAL_GREATER_THAN = Operation(
    "ELEMENT_WISE_LOGICAL_GREATER_THAN",
    [
        ("ATensor", "a", False, [1], [], False),
        ("BTensor", "b", False, [0], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL = Operation(
    "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL",
    [
        ("ATensor", "a", False, [1], [], False),
        ("BTensor", "b", False, [0], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_LOGICAL_LESS_THAN = Operation(
    "ELEMENT_WISE_LOGICAL_LESS_THAN",
    [
        ("ATensor", "a", False, [1], [], False),
        ("BTensor", "b", False, [0], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL = Operation(
    "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL",
    [
        ("ATensor", "a", False, [1], [], False),
        ("BTensor", "b", False, [0], [], False),
    ],
    [],
    [],
)
_ELEMENT_WISE_LOGICAL_NOT = Operation(
    "ELEMENT_WISE_LOGICAL_NOT",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ELEMENT_WISE_LOGICAL_OR = Operation(
    "ELEMENT_WISE_LOGICAL_OR",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_LOGICAL_XOR = Operation(
    "ELEMENT_WISE_LOGICAL_XOR",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_SIGN = Operation(
    "ELEMENT_WISE_SIGN",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ELEMENT_WISE_CLIP = Operation(
    "ELEMENT_WISE_CLIP",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Min", False),
        ("Max", False),
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_CLIP1 = Operation(
    "ELEMENT_WISE_CLIP1",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("MinMaxDataType", True),
        ("Min", False),
        ("Max", False),
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_CLIP_GRAD = Operation(
    "ELEMENT_WISE_CLIP_GRAD",
    [
        ("InputTensor", "input", False, [1], [], True),
        ("InputGradientTensor", "input_gradient", False, [0], [], False),
    ],
    [
        ("Min", False),
        ("Max", False),
    ],
    [0, 1],
)
_ELEMENT_WISE_CLIP_GRAD1 = Operation(
    "ELEMENT_WISE_CLIP_GRAD1",
    [
        ("InputTensor", "input", False, [1], [], True),
        ("InputGradientTensor", "input_gradient", False, [0], [], False),
    ],
    [
        ("MinMaxDataType", True),
        ("Min", False),
        ("Max", False),
    ],
    [0, 1],
)
_ELEMENT_WISE_MAX = Operation(
    "ELEMENT_WISE_MAX",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_MIN = Operation(
    "ELEMENT_WISE_MIN",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_THRESHOLD = Operation(
    "ELEMENT_WISE_THRESHOLD",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Min", False),
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_CEIL = Operation(
    "ELEMENT_WISE_CEIL",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_FLOOR = Operation(
    "ELEMENT_WISE_FLOOR",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_MODULUS_FLOOR = Operation(
    "ELEMENT_WISE_MODULUS_FLOOR",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_MODULUS_TRUNCATE = Operation(
    "ELEMENT_WISE_MODULUS_TRUNCATE",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_ROUND = Operation(
    "ELEMENT_WISE_ROUND",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("RoundingMode", False),
    ],
    [0],
)
_ELEMENT_WISE_ADD = Operation(
    "ELEMENT_WISE_ADD",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_ADD1 = Operation(
    "ELEMENT_WISE_ADD1",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [
        ("FusedActivation", False),
        ("FusedActivation.Alpha", False),
        ("FusedActivation.Beta", False),
        ("FusedActivation.Bias", False),
        ("FusedActivation.Gamma", False),
        ("FusedActivation.Steepness", False),
        ("FusedActivation.Threshold", False),
    ],
    [0, 1],
)
_ELEMENT_WISE_DIFFERENCE_SQUARE = Operation(
    "ELEMENT_WISE_DIFFERENCE_SQUARE",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_DIVIDE = Operation(
    "ELEMENT_WISE_DIVIDE",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_MEAN = Operation(
    "ELEMENT_WISE_MEAN",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_MULTIPLY = Operation(
    "ELEMENT_WISE_MULTIPLY",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_RECIP = Operation(
    "ELEMENT_WISE_RECIP",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_SQRT = Operation(
    "ELEMENT_WISE_SQRT",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_SUBTRACT = Operation(
    "ELEMENT_WISE_SUBTRACT",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_ACOS = Operation(
    "ELEMENT_WISE_ACOS",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ACOSH = Operation(
    "ELEMENT_WISE_ACOSH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ASIN = Operation(
    "ELEMENT_WISE_ASIN",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ASINH = Operation(
    "ELEMENT_WISE_ASINH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ATAN = Operation(
    "ELEMENT_WISE_ATAN",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ATANH = Operation(
    "ELEMENT_WISE_ATANH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ATAN_YX = Operation(
    "ELEMENT_WISE_ATAN_YX",
    [
        ("ATensor", "a", False, [1], [], True),
        ("BTensor", "b", False, [0], [], True),
    ],
    [],
    [0, 1],
)
_ELEMENT_WISE_CONSTANT_POW = Operation(
    "ELEMENT_WISE_CONSTANT_POW",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Exponent", False),
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_COS = Operation(
    "ELEMENT_WISE_COS",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_COSH = Operation(
    "ELEMENT_WISE_COSH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_ERF = Operation(
    "ELEMENT_WISE_ERF",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_EXP = Operation(
    "ELEMENT_WISE_EXP",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_LOG = Operation(
    "ELEMENT_WISE_LOG",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_POW = Operation(
    "ELEMENT_WISE_POW",
    [
        ("InputTensor", "input", False, [], [], True),
        ("ExponentTensor", "exponent", False, [], [], False),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_SIN = Operation(
    "ELEMENT_WISE_SIN",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_SINH = Operation(
    "ELEMENT_WISE_SINH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_TAN = Operation(
    "ELEMENT_WISE_TAN",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ELEMENT_WISE_TANH = Operation(
    "ELEMENT_WISE_TANH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("ScaleBias.Scale", False),
        ("ScaleBias.Bias", False),
    ],
    [0],
)
_ACTIVATION_CELU = Operation(
    "ACTIVATION_CELU",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
    ],
    [0],
)
_ACTIVATION_ELU = Operation(
    "ACTIVATION_ELU",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
    ],
    [0],
)
_ACTIVATION_GELU = Operation(
    "ACTIVATION_GELU",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [],
    [0],
)
_ACTIVATION_HARD_SIGMOID = Operation(
    "ACTIVATION_HARD_SIGMOID",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
        ("Beta", False),
    ],
    [0],
)
_ACTIVATION_HARD_SWISH = Operation(
    "ACTIVATION_HARD_SWISH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
        ("Beta", False),
    ],
    [0],
)
_ACTIVATION_IDENTITY = Operation(
    "ACTIVATION_IDENTITY",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ACTIVATION_LEAKY_RELU = Operation(
    "ACTIVATION_LEAKY_RELU",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
    ],
    [0],
)
_ACTIVATION_LINEAR = Operation(
    "ACTIVATION_LINEAR",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
        ("Beta", False),
    ],
    [0],
)
_ACTIVATION_PARAMETERIZED_RELU = Operation(
    "ACTIVATION_PARAMETERIZED_RELU",
    [
        ("InputTensor", "input", False, [1], [], True),
        ("SlopeTensor", "slope", False, [0], [], False),
    ],
    [],
    [0, 1],
)
_ACTIVATION_PARAMETRIC_SOFTPLUS = Operation(
    "ACTIVATION_PARAMETRIC_SOFTPLUS",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
        ("Beta", False),
    ],
    [0],
)
_ACTIVATION_RELU = Operation(
    "ACTIVATION_RELU",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ACTIVATION_RELU_GRAD = Operation(
    "ACTIVATION_RELU_GRAD",
    [
        ("InputTensor", "input", False, [1], [], False),
        ("InputGradientTensor", "input_gradient", False, [0], [], False),
    ],
    [],
    [0, 1],
)
_ACTIVATION_SCALED_ELU = Operation(
    "ACTIVATION_SCALED_ELU",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
        ("Gamma", False),
    ],
    [0],
)
_ACTIVATION_SCALED_TANH = Operation(
    "ACTIVATION_SCALED_TANH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
        ("Beta", False),
    ],
    [0],
)
_ACTIVATION_SHRINK = Operation(
    "ACTIVATION_SHRINK",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Bias", False),
        ("Threshold", False),
    ],
    [0],
)
_ACTIVATION_SIGMOID = Operation(
    "ACTIVATION_SIGMOID",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ACTIVATION_SOFTPLUS = Operation(
    "ACTIVATION_SOFTPLUS",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Steepness", False),
    ],
    [0],
)
_ACTIVATION_SOFTSIGN = Operation(
    "ACTIVATION_SOFTSIGN",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ACTIVATION_SWISH = Operation(
    "ACTIVATION_SWISH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("SigmoidInputScale", False),
    ],
    [0],
)
_ACTIVATION_TANH = Operation(
    "ACTIVATION_TANH",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [],
    [0],
)
_ACTIVATION_THRESHOLDED_RELU = Operation(
    "ACTIVATION_THRESHOLDED_RELU",
    [
        ("InputTensor", "input", False, [], [], True),
    ],
    [
        ("Alpha", False),
    ],
    [0],
)
_ELEMENT_WISE_DEQUANTIZE_LINEAR = Operation(
    "ELEMENT_WISE_DEQUANTIZE_LINEAR",
    [
        ("InputTensor", "input", False, [2], [], False),
        ("ScaleTensor", "scale", False, [], [], False),
        ("ZeroPointTensor", "zero_point", False, [0], [], False),
    ],
    [],
    [1],
)
_ELEMENT_WISE_QUANTIZED_LINEAR_ADD = Operation(
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
    [
        ("ATensor", "a", False, [2], [], False),
        ("AScaleTensor", "a_scale", True, [], [], False),
        ("AZeroPointTensor", "a_zero_point", True, [0], [], False),
        ("BTensor", "b", False, [5], [], False),
        ("BScaleTensor", "b_scale", True, [], [], False),
        ("BZeroPointTensor", "b_zero_point", True, [3], [], False),
        ("OutputScaleTensor", "output_scale", True, [], [], False),
        ("OutputZeroPointTensor", "output_zero_point", True, [], [], False),
    ],
    [],
    [7],
)
_ELEMENT_WISE_QUANTIZE_LINEAR = Operation(
    "ELEMENT_WISE_QUANTIZE_LINEAR",
    [
        ("InputTensor", "input", False, [], [], False),
        ("ScaleTensor", "scale", False, [], [0], False),
        ("ZeroPointTensor", "zero_point", False, [], [], False),
    ],
    [],
    [2],
)
_ACTIVATION_HARDMAX = Operation(
    "ACTIVATION_HARDMAX",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [],
    [0],
)
_ACTIVATION_HARDMAX1 = Operation(
    "ACTIVATION_HARDMAX1",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [
        ("Axes", False),
    ],
    [0],
)
_ACTIVATION_LOG_SOFTMAX = Operation(
    "ACTIVATION_LOG_SOFTMAX",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [],
    [0],
)
_ACTIVATION_LOG_SOFTMAX1 = Operation(
    "ACTIVATION_LOG_SOFTMAX1",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [
        ("Axes", False),
    ],
    [0],
)
_ACTIVATION_SOFTMAX = Operation(
    "ACTIVATION_SOFTMAX",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [],
    [0],
)
_ACTIVATION_SOFTMAX1 = Operation(
    "ACTIVATION_SOFTMAX1",
    [
        ("InputTensor", "input", False, [], [], False),
    ],
    [
        ("Axes", False),
    ],
    [0],
)


class Operators(Generic[R_co]):
    """A method for each operator. What it returns depends on whose methods they are.

    Every method takes `out=` and the keywords of `CallSettings`. Arrays are broadcast as NumPy does
    it; a Python number takes the type of the arrays that it has to agree with.
    """

    def __init__(self, run: Callable[..., R_co]) -> None:
        self._run = run

    def abs(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Takes the magnitude; of integers of 8 and 16 bits saturated.

            output = abs(input)

        Types: float32, float16, int64, int32, int16, int8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ABS, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def bit_and(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Combines the bits of A and B by AND.

            output = a & b

        Types: float64, float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_AND, (a, b), (), out, settings
        )

    def bit_count(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Counts the bits that are one.

            output = popcount(input)

        Types of input: float64, float32, float16, int64, int32, int16, int8, uint64, uint32,
          uint16, uint8.
        Types of output: uint32, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_COUNT, (input,), (), out, settings
        )

    def bit_not(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Inverts all bits.

            output = ~input

        Types: float64, float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_NOT, (input,), (), out, settings
        )

    def bit_or(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Combines the bits of A and B by OR.

            output = a | b

        Types: float64, float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_OR, (a, b), (), out, settings
        )

    def bit_shift_left(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Shifts the bits of A up by B places; of B the low five bits count, of UINT64 six.

            output = a << (b & 31)

        Types: uint64, uint32, uint16, uint8.
        Since feature level 2_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_SHIFT_LEFT, (a, b), (), out, settings
        )

    def bit_shift_right(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Shifts the bits of A down by B places; of B the low five bits count, of UINT64 six.

            output = a >> (b & 31)

        Types: uint64, uint32, uint16, uint8.
        Since feature level 2_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_SHIFT_RIGHT, (a, b), (), out, settings
        )

    def bit_xor(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Combines the bits of A and B by exclusive OR.

            output = a ^ b

        Types: float64, float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_BIT_XOR, (a, b), (), out, settings
        )

    def identity(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Copies the elements, into another layout if the strides differ.

            output = input

        Types: float64, float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_IDENTITY, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def if_(
        self, condition: Operand, a: Operand, b: Operand, *, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Selects elements of A where the condition is not zero, elements of B elsewhere.

            output = condition != 0 ? a : b

        Types of condition: uint8.
        Types of a, b, output: float64, float32, float16, int64, int32, int16, int8, uint64, uint32,
          uint16, uint8.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_IF, (condition, a, b), (), out, settings
        )

    def negate(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Changes the sign; integers of 8 and 16 bits saturate.

            output = -input

        Types: float32, float16, int64, int32, int16, int8.
        Since feature level 5_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_NEGATE, (input,), (), out, settings
        )

    def is_infinity(
        self, input: Operand, *, infinity_mode: InfinityMode | int, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells which elements are infinite, as 1 or 0.

            output = isinf(input) && sign matches InfinityMode ? 1 : 0

        infinity_mode "EITHER": +inf or -inf.
        infinity_mode "POSITIVE": +inf only.
        infinity_mode "NEGATIVE": -inf only.
        Types of input: float32, float16.
        Types of output: uint8.
        Since feature level 2_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_IS_INFINITY, (input,), (infinity_mode,), out, settings
        )

    def is_nan(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells which elements are NaN, as 1 or 0.

            output = isnan(input) ? 1 : 0

        Types of input: float32, float16.
        Types of output: uint32, uint8.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_IS_NAN, (input,), (), out, settings
        )

    def logical_and(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where both A and B are true, that is not zero.

            output = a && b ? 1 : 0

        Types: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_AND, (a, b), (), out, settings
        )

    def logical_equals(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where A is equal to B; false for NaN.

            output = a == b ? 1 : 0

        Types of a, b: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Types of output: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_EQUALS, (a, b), (), out, settings
        )

    def logical_greater_than(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where A is greater than B; false for NaN.

            output = a > b ? 1 : 0

        Types of a, b: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Types of output: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_GREATER_THAN, (a, b), (), out, settings
        )

    def logical_greater_than_or_equal(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where A is greater than or equal to B; false for NaN.

            output = a >= b ? 1 : 0

        Types of a, b: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Types of output: uint32, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL, (a, b), (), out, settings
        )

    def logical_less_than(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where A is less than B; false for NaN.

            output = a < b ? 1 : 0

        Types of a, b: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Types of output: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_LESS_THAN, (a, b), (), out, settings
        )

    def logical_less_than_or_equal(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where A is less than or equal to B; false for NaN.

            output = a <= b ? 1 : 0

        Types of a, b: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Types of output: uint32, uint8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL, (a, b), (), out, settings
        )

    def logical_not(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells which elements are zero, that is false.

            output = input == 0 ? 1 : 0

        Types: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_NOT, (input,), (), out, settings
        )

    def logical_or(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where A or B is true, that is not zero.

            output = a || b ? 1 : 0

        Types: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_OR, (a, b), (), out, settings
        )

    def logical_xor(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells where one of A and B is true, that is not zero, and the other is not.

            output = (a != 0) != (b != 0) ? 1 : 0

        Types: uint32, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOGICAL_XOR, (a, b), (), out, settings
        )

    def sign(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Tells the sign as -1, 0 or 1; 0 for NaN.

            output = input < 0 ? -1 : input > 0 ? 1 : 0

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_SIGN, (input,), (), out, settings
        )

    def clip(
        self, input: Operand, *, min: float, max: float, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Limits elements to Min to Max; Min wins over Max, and NaN becomes Max.

            output = max(Min, min(input, Max))

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_CLIP, (input,), (min, max, scale_bias_scale, scale_bias_bias), out,
            settings
        )

    def clip1(
        self, input: Operand, *, min: float, max: float,
        min_max_data_type: DataTypeName | None = None, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """As ELEMENT_WISE_CLIP, with limits of the tensors' type.

            output = max(Min, min(input, Max))

        min_max_data_type: the tensors' type; need not be given.
        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 5_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_CLIP1, (input,), (min_max_data_type, min, max, scale_bias_scale,
            scale_bias_bias), out, settings
        )

    def clip_grad(
        self, input: Operand, input_gradient: Operand, *, min: float, max: float,
        out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Passes the gradient where Min < x < Max, and 0 elsewhere.

            output_gradient = Min < input && input < Max ? input_gradient : 0

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 3_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_CLIP_GRAD, (input, input_gradient), (min, max), out, settings
        )

    def clip_grad1(
        self, input: Operand, input_gradient: Operand, *, min: float, max: float,
        min_max_data_type: DataTypeName | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """As ELEMENT_WISE_CLIP_GRAD, with limits of the tensors' type.

            output_gradient = Min < input && input < Max ? input_gradient : 0

        min_max_data_type: the tensors' type; need not be given.
        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 5_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_CLIP_GRAD1, (input, input_gradient), (min_max_data_type, min, max), out,
            settings
        )

    def max(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Takes the greater element; A where neither is, the other where one is NaN.

            output = max(a, b)

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_MAX, (a, b), (), out, settings
        )

    def min(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Takes the lesser element; A where neither is, the other where one is NaN.

            output = min(a, b)

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_MIN, (a, b), (), out, settings
        )

    def threshold(
        self, input: Operand, *, min: float, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Raises elements below Min, and NaN, to Min.

            output = max(Min, input)

        Types: float32, float16, int32, int16, int8, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_THRESHOLD, (input,), (min, scale_bias_scale, scale_bias_bias), out,
            settings
        )

    def ceil(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Rounds up to the next integral value.

            output = ceil(input)

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_CEIL, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def floor(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Rounds down to the next integral value.

            output = floor(input)

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_FLOOR, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def modulus_floor(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the remainder of the floored division of A by B, with the sign of B.

            output = a - b * floor(a / b), rounded once

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 2_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_MODULUS_FLOOR, (a, b), (), out, settings
        )

    def modulus_truncate(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the remainder of the truncated division of A by B, with the sign of A.

            output = a - b * trunc(a / b), exact like C fmod

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 2_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_MODULUS_TRUNCATE, (a, b), (), out, settings
        )

    def round(
        self, input: Operand, *, rounding_mode: RoundingMode | int, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Rounds to an integral value.

            output = round(input) by RoundingMode

        rounding_mode "HALVES_TO_NEAREST_EVEN": nearest integer, ties to even.
        rounding_mode "TOWARD_ZERO": truncate.
        rounding_mode "TOWARD_INFINITY": nearest integer, ties away from zero.
        Types: float32, float16.
        Since feature level 2_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ROUND, (input,), (rounding_mode,), out, settings
        )

    def add(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Adds A and B; integers wrap.

            output = a + b

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ADD, (a, b), (), out, settings
        )

    def add1(
        self, a: Operand, b: Operand, *, fused_activation: str | None = None,
        fused_activation_alpha: float | None = None, fused_activation_beta: float | None = None,
        fused_activation_bias: float | None = None, fused_activation_gamma: float | None = None,
        fused_activation_steepness: float | None = None,
        fused_activation_threshold: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Adds A and B, and computes an activation of the rounded sum.

            output = FusedActivation(a + b)

        fused_activation: an activation that is computed of each result, such as "ACTIVATION_RELU".
        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ADD1, (a, b), (fused_activation, fused_activation_alpha,
            fused_activation_beta, fused_activation_bias, fused_activation_gamma,
            fused_activation_steepness, fused_activation_threshold), out, settings
        )

    def difference_square(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Squares the difference of A and B; integers wrap.

            output = (a - b)^2, rounded once

        Types: float32, float16, int32, uint32.
        Since feature level 3_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_DIFFERENCE_SQUARE, (a, b), (), out, settings
        )

    def divide(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Divides A by B; integers toward zero.

            output = a / b

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_DIVIDE, (a, b), (), out, settings
        )

    def mean(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Takes the middle of A and B without overflow; of integers toward zero.

            output = (a + b) / 2, rounded once

        Types: float32, float16, int32, uint32.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_MEAN, (a, b), (), out, settings
        )

    def multiply(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Multiplies A and B; integers wrap.

            output = a * b

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_MULTIPLY, (a, b), (), out, settings
        )

    def recip(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Takes the reciprocal.

            output = 1 / input

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_RECIP, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def sqrt(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Takes the square root.

            output = sqrt(input)

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_SQRT, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def subtract(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Subtracts B from A; integers wrap.

            output = a - b

        Types: float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_SUBTRACT, (a, b), (), out, settings
        )

    def acos(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the arc cosine.

            output = acos(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ACOS, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def acosh(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the area hyperbolic cosine.

            output = acosh(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ACOSH, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def asin(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the arc sine.

            output = asin(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ASIN, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def asinh(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the area hyperbolic sine.

            output = asinh(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ASINH, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def atan(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the arc tangent.

            output = atan(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ATAN, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def atanh(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the area hyperbolic tangent.

            output = atanh(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ATANH, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def atan_yx(
        self, a: Operand, b: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the angle of the point (B, A), of all four quadrants.

            output = atan2(a, b), rounded once

        Types: float32, float16.
        Since feature level 3_1; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ATAN_YX, (a, b), (), out, settings
        )

    def constant_pow(
        self, input: Operand, *, exponent: float, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Raises to a constant power.

            output = pow(input, Exponent), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_CONSTANT_POW, (input,), (exponent, scale_bias_scale, scale_bias_bias),
            out, settings
        )

    def cos(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the cosine.

            output = cos(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_COS, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def cosh(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the hyperbolic cosine.

            output = cosh(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_COSH, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def erf(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the error function.

            output = erf(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_ERF, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def exp(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the exponential function.

            output = exp(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_EXP, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def log(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the natural logarithm.

            output = log(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_LOG, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def pow(
        self, input: Operand, exponent: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Raises elements to powers of any type; of integers saturated, or wrapped where of 32
        bits.

            output = input ^ exponent, rounded once

        Types: float32, float16, int32, int16, int8, uint32, uint16, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_POW, (input, exponent), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def sin(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the sine.

            output = sin(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_SIN, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def sinh(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the hyperbolic sine.

            output = sinh(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_SINH, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def tan(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the tangent.

            output = tan(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_TAN, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def tanh(
        self, input: Operand, *, scale_bias_scale: float | None = None,
        scale_bias_bias: float | None = None, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the hyperbolic tangent.

            output = tanh(input), rounded once

        Types: float32, float16.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_TANH, (input,), (scale_bias_scale, scale_bias_bias), out, settings
        )

    def activation_celu(
        self, input: Operand, *, alpha: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Replaces what is less than zero by a scaled exponential.

            output = max(0, input) + min(0, Alpha * (exp(input / Alpha) - 1)), rounded once

        Types: float32, float16.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ACTIVATION_CELU, (input,), (alpha,), out, settings
        )

    def activation_elu(
        self, input: Operand, *, alpha: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Replaces what is less than zero by an exponential.

            output = input >= 0 ? input : Alpha * (exp(input) - 1), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_ELU, (input,), (alpha,), out, settings
        )

    def activation_gelu(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Multiplies by the normal distribution function.

            output = 0.5 * input * (1 + erf(input / sqrt(2))), rounded once

        Types: float32, float16.
        Since feature level 5_1; results are exact.
        """
        return self._run(
            _ACTIVATION_GELU, (input,), (), out, settings
        )

    def activation_hard_sigmoid(
        self, input: Operand, *, alpha: float, beta: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Limits a linear function to 0 to 1; 0 for NaN.

            output = max(0, min(Alpha * input + Beta, 1))

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_HARD_SIGMOID, (input,), (alpha, beta), out, settings
        )

    def activation_hard_swish(
        self, input: Operand, *, alpha: float, beta: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Multiplies by a linear function that is limited to 0 to 1.

            output = input * max(0, min(Alpha * input + Beta, 1)), rounded once

        Types: float32, float16.
        Since feature level 6_2; results are exact.
        """
        return self._run(
            _ACTIVATION_HARD_SWISH, (input,), (alpha, beta), out, settings
        )

    def activation_identity(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Copies the elements.

            output = input

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_IDENTITY, (input,), (), out, settings
        )

    def activation_leaky_relu(
        self, input: Operand, *, alpha: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Multiplies what is less than zero by Alpha.

            output = input >= 0 ? input : Alpha * input

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_LEAKY_RELU, (input,), (alpha,), out, settings
        )

    def activation_linear(
        self, input: Operand, *, alpha: float, beta: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes a linear function.

            output = Alpha * input + Beta, rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_LINEAR, (input,), (alpha, beta), out, settings
        )

    def activation_parameterized_relu(
        self, input: Operand, slope: Operand, *, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Multiplies what is less than zero by a slope; integers wrap.

            output = input >= 0 ? input : slope * input

        Types: float32, float16, int32, int16, int8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_PARAMETERIZED_RELU, (input, slope), (), out, settings
        )

    def activation_parametric_softplus(
        self, input: Operand, *, alpha: float, beta: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Approximates max(0, x) smoothly, scaled.

            output = Alpha * log(1 + exp(Beta * input)), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_PARAMETRIC_SOFTPLUS, (input,), (alpha, beta), out, settings
        )

    def activation_relu(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Replaces what is not greater than zero, and NaN, by zero.

            output = max(0, input)

        Types: float32, float16, int32, int16, int8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_RELU, (input,), (), out, settings
        )

    def activation_relu_grad(
        self, input: Operand, input_gradient: Operand, *, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Passes the gradient where the input is greater than zero, and 0 elsewhere.

            output_gradient = input > 0 ? input_gradient : 0

        Types: float32, float16, int32, int16, int8.
        Since feature level 3_0; results are exact.
        """
        return self._run(
            _ACTIVATION_RELU_GRAD, (input, input_gradient), (), out, settings
        )

    def activation_scaled_elu(
        self, input: Operand, *, alpha: float, gamma: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Scales, and replaces what is less than zero by an exponential.

            output = Gamma * (input >= 0 ? input : Alpha * (exp(input) - 1)), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SCALED_ELU, (input,), (alpha, gamma), out, settings
        )

    def activation_scaled_tanh(
        self, input: Operand, *, alpha: float, beta: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the hyperbolic tangent, scaled.

            output = Alpha * tanh(Beta * input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SCALED_TANH, (input,), (alpha, beta), out, settings
        )

    def activation_shrink(
        self, input: Operand, *, bias: float, threshold: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Moves elements beyond Threshold by Bias toward zero; others, and NaN, become zero.

            output = input > Threshold ? input - Bias : input < -Threshold ? input + Bias : 0

        Types: float32, float16, int32, int16, int8, uint32, uint16, uint8.
        Since feature level 2_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SHRINK, (input,), (bias, threshold), out, settings
        )

    def activation_sigmoid(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the logistic function.

            output = 1 / (1 + exp(-input)), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SIGMOID, (input,), (), out, settings
        )

    def activation_softplus(
        self, input: Operand, *, steepness: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Approximates max(0, x) smoothly.

            output = log(1 + exp(Steepness * input)) / Steepness, rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SOFTPLUS, (input,), (steepness,), out, settings
        )

    def activation_softsign(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Divides by one more than the magnitude.

            output = input / (1 + abs(input)), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SOFTSIGN, (input,), (), out, settings
        )

    def activation_swish(
        self, input: Operand, *, sigmoid_input_scale: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Multiplies by the logistic function.

            output = input / (1 + exp(-SigmoidInputScale * input)), rounded once

        Types: float32, float16.
        Since feature level 6_2; results are exact.
        """
        return self._run(
            _ACTIVATION_SWISH, (input,), (sigmoid_input_scale,), out, settings
        )

    def activation_tanh(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the hyperbolic tangent.

            output = tanh(input), rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_TANH, (input,), (), out, settings
        )

    def activation_thresholded_relu(
        self, input: Operand, *, alpha: float, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Replaces what is not greater than Alpha by zero.

            output = input > Alpha ? input : 0

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_THRESHOLDED_RELU, (input,), (alpha,), out, settings
        )

    def dequantize_linear(
        self, input: Operand, scale: Operand, zero_point: Operand | None = None, *,
        out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Gives integers with a scale and a zero point as floats; without a zero point it is 0.

            output = (input - zero_point) * scale, rounded once

        Types of input, zero_point: int32, int16, int8, uint32, uint16, uint8.
        Types of scale, output: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_DEQUANTIZE_LINEAR, (input, scale, zero_point), (), out, settings
        )

    def quantized_linear_add(
        self, a: Operand, a_scale: Operand, b: Operand, b_scale: Operand, output_scale: Operand,
        a_zero_point: Operand | None = None, b_zero_point: Operand | None = None,
        output_zero_point: Operand | None = None, *, out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Adds quantised numbers; NaN becomes the least integer, absent zero points are 0.

            output = clamp(rint((a + b) / output_scale) + output_zero_point), a = (a -
                a_zero_point) * a_scale, b likewise

        Types of a, a_zero_point, b, b_zero_point, output_zero_point, output: int8, uint8.
        Types of a_scale, b_scale, output_scale: float32.
        Since feature level 4_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_QUANTIZED_LINEAR_ADD, (a, a_scale, a_zero_point, b, b_scale, b_zero_point,
            output_scale, output_zero_point), (), out, settings
        )

    def quantize_linear(
        self, input: Operand, scale: Operand, zero_point: Operand | None = None, *,
        out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Gives quotients by a scale as integers; NaN becomes 0, an absent zero point is 0.

            output = clamp(rint(input / scale) + zero_point)

        Types of input: float32, float16, int32.
        Types of scale: float32, float16.
        Types of zero_point, output: int8, uint8.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ELEMENT_WISE_QUANTIZE_LINEAR, (input, scale, zero_point), (), out, settings
        )

    def activation_hardmax(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Gives 1 at the first maximum of each row along the last dimension, 0 elsewhere.

            output = 1 where input is the first maximum of its row, 0 elsewhere

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_HARDMAX, (input,), (), out, settings
        )

    def activation_hardmax1(
        self, input: Operand, *, axes: Sequence[int], out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Gives 1 at the first maximum of each row along Axes, 0 elsewhere.

            output = 1 where input is the first maximum of its row, 0 elsewhere

        axes: dimensions, the first is 0.
        Types: float32, float16.
        Since feature level 5_1; results are exact.
        """
        return self._run(
            _ACTIVATION_HARDMAX1, (input,), (axes,), out, settings
        )

    def activation_log_softmax(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the logarithm of the softmax of each row along the last dimension.

            output = input - log(sum(exp(input))) of its row, rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_LOG_SOFTMAX, (input,), (), out, settings
        )

    def activation_log_softmax1(
        self, input: Operand, *, axes: Sequence[int], out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Computes the logarithm of the softmax of each row along Axes.

            output = input - log(sum(exp(input))) of its row, rounded once

        axes: dimensions, the first is 0.
        Types: float32, float16.
        Since feature level 5_1; results are exact.
        """
        return self._run(
            _ACTIVATION_LOG_SOFTMAX1, (input,), (axes,), out, settings
        )

    def activation_softmax(
        self, input: Operand, *, out: Out | None = None, **settings: Unpack[CallSettings]
    ) -> R_co:
        """Divides e^x by the sum of all such of its row along the last dimension.

            output = exp(input) / sum(exp(input)) of its row, rounded once

        Types: float32, float16.
        Since feature level 1_0; results are exact.
        """
        return self._run(
            _ACTIVATION_SOFTMAX, (input,), (), out, settings
        )

    def activation_softmax1(
        self, input: Operand, *, axes: Sequence[int], out: Out | None = None,
        **settings: Unpack[CallSettings]
    ) -> R_co:
        """Divides e^x by the sum of all such of its row along Axes.

            output = exp(input) / sum(exp(input)) of its row, rounded once

        axes: dimensions, the first is 0.
        Types: float32, float16.
        Since feature level 5_1; results are exact.
        """
        return self._run(
            _ACTIVATION_SOFTMAX1, (input,), (axes,), out, settings
        )
