// File: server/program/control_command.h
//
// `opserve-server stop [PID]` and `opserve-server reload [PID]`, where the system has no signals
// for that.

#ifndef OPSERVE_SERVER_PROGRAM_CONTROL_COMMAND_H_
#define OPSERVE_SERVER_PROGRAM_CONTROL_COMMAND_H_

#include "server/program/program_options.h"

namespace opserve {

// Whether the command line is one of these. Never on POSIX, which has kill(1).
bool IsControlCommand(int argc, const char* const* argv);

// Carries it out, by default for the only server that runs. The code is 0, or 2 where it makes no
// sense or no such server runs; the text is a line, or empty.
EarlyExit RunControlCommand(int argc, const char* const* argv);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_CONTROL_COMMAND_H_
