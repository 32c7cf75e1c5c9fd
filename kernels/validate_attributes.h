// File: kernels/validate_attributes.h
//
// The part of validation that looks at attributes. Internal to kernels/.

#ifndef OPSERVE_KERNELS_VALIDATE_ATTRIBUTES_H_
#define OPSERVE_KERNELS_VALIDATE_ATTRIBUTES_H_

#include <optional>
#include <span>

#include "kernels/invocation.h"
#include "kernels/validate.h"
#include "kernels/violations.h"

namespace opserve {

struct GivenAttributes {
  AttributeValues values = {};
  std::optional<ScaleBias> scale_bias = {};
};

// Checks the attributes given for `op`: names, values, and that none is missing or given twice.
// Adds a violation for each fault. Returns the values, with defaults where optional ones are left
// out.
GivenAttributes CheckAttributes(const OpTraits& op, std::span<const AttributeView> given,
                                ViolationList& violations);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_VALIDATE_ATTRIBUTES_H_
