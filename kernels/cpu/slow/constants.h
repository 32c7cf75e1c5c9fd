// Numbers that more than one function needs, to 106 digits.

#ifndef OPSERVE_KERNELS_CPU_SLOW_CONSTANTS_H_
#define OPSERVE_KERNELS_CPU_SLOW_CONSTANTS_H_

#include "kernels/cpu/slow/double_double.h"

namespace opserve::cpu::slow {

inline constexpr DoubleDouble kPi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
inline constexpr DoubleDouble kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

}  // namespace opserve::cpu::slow

#endif  // OPSERVE_KERNELS_CPU_SLOW_CONSTANTS_H_
