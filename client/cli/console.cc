#include "client/cli/console.h"

#include <unistd.h>

namespace opserve::cli {

bool IsConsole(int descriptor) { return isatty(descriptor) == 1; }

}  // namespace opserve::cli
