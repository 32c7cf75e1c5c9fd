#include "server/base/broken_pipe.h"

namespace opserve {

void BlockBrokenPipe() {}

}  // namespace opserve
