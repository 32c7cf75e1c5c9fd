#include "server/program/control_command.h"

namespace opserve {

bool IsControlCommand(int /*argc*/, const char* const* /*argv*/) { return false; }

EarlyExit RunControlCommand(int /*argc*/, const char* const* /*argv*/) { return {}; }

}  // namespace opserve
