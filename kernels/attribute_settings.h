// File: kernels/attribute_settings.h
//
// Attributes to try an operator with: each mode that it has, usual numbers, and numbers that
// kernels are likely to get wrong. Thread-safe.

#ifndef OPSERVE_KERNELS_ATTRIBUTE_SETTINGS_H_
#define OPSERVE_KERNELS_ATTRIBUTE_SETTINGS_H_

#include <vector>

#include "kernels/op_table.h"
#include "kernels/validate.h"

namespace opserve {

// The number of settings of the operator for elements of `lane`; 1 where it has neither attributes
// nor a ScaleBias nor a FusedActivation. Numbers 0 to mode_count() - 1 are usual ones, of that
// mode.
int SettingCount(const OpTraits& op, DataType lane);

// The number of settings with neither a ScaleBias nor a FusedActivation, which come first.
int PlainSettingCount(const OpTraits& op);

// Setting number `setting`, below SettingCount(), for elements of `lane`.
std::vector<AttributeView> AttributesOfSetting(const OpTraits& op, DataType lane, int setting);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_ATTRIBUTE_SETTINGS_H_
