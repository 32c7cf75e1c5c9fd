// The units of kernels that this build leaves out have no kernels. Those that it has are preferred
// by the linker: these here are weak.

#include "kernels/cpu/cells.h"

namespace opserve::cpu {

#define OPSERVE_NO_UNIT(FAMILY, GROUP)                                                         \
  [[gnu::weak]] FlatKernel Lookup##FAMILY##GROUP(OpId /*op*/, const KernelVariant& /*cell*/) { \
    return nullptr;                                                                            \
  }
OPSERVE_ALL_UNITS(OPSERVE_NO_UNIT)
#undef OPSERVE_NO_UNIT

}  // namespace opserve::cpu
