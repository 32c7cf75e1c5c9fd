// File: kernels/validate_attributes.h
//
// What the attributes of a request may be, and the part of validation that looks at them.

#ifndef OPSERVE_KERNELS_VALIDATE_ATTRIBUTES_H_
#define OPSERVE_KERNELS_VALIDATE_ATTRIBUTES_H_

#include <optional>
#include <span>
#include <vector>

#include "kernels/invocation.h"
#include "kernels/validate.h"
#include "kernels/violations.h"

namespace opserve {

// The attributes that requests may give: those of the operator, then the members of a ScaleBias
// where it takes one, then a FusedActivation with all attributes that one can have.
std::vector<AttributeTraits> AttributesFor(const OpTraits& op);

struct GivenAttributes {
  AttributeValues values = {};
  std::optional<ScaleBias> scale_bias = {};
  std::optional<FusedActivation> fused_activation = {};
};

// Checks the attributes given for `op` at `level`: names, values, and that none is missing or given
// twice. Adds a violation for each fault. Returns the values, with defaults where optional ones are
// left out.
GivenAttributes CheckAttributes(const OpTraits& op, FeatureLevel level,
                                std::span<const AttributeView> given, ViolationList& violations);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_VALIDATE_ATTRIBUTES_H_
