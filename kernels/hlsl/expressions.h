// File: kernels/hlsl/expressions.h
//
// The HLSL column of the operator table. Constants; safe to use from any thread.

#ifndef OPSERVE_KERNELS_HLSL_EXPRESSIONS_H_
#define OPSERVE_KERNELS_HLSL_EXPRESSIONS_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "kernels/op_table.h"

namespace opserve::hlsl {

// In the order of the table, each in parentheses; empty ones of operators without a GPU kernel.
inline constexpr absl::string_view kExpressions[] = {
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE) #HLSL,
#include "kernels/operators.def"
#undef OPSERVE_OPERATOR
};

constexpr absl::string_view ExpressionOf(OpId op) { return kExpressions[static_cast<size_t>(op)]; }

// Whether kernels of the operator may leave elements open: their functions are not of one number,
// so that no number of digits is known to decide all results (kernels/hlsl/open.hlsli). What such a
// kernel has computed counts only where it has not marked the submission as open.
constexpr bool LeavesOpen(OpId op) { return ExpressionOf(op).substr(0, 8) == "(Decided"; }

}  // namespace opserve::hlsl

#endif  // OPSERVE_KERNELS_HLSL_EXPRESSIONS_H_
