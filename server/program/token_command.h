// File: server/program/token_command.h
//
// `opserve-server token`: makes, lists and revokes the tokens that a server takes.

#ifndef OPSERVE_SERVER_PROGRAM_TOKEN_COMMAND_H_
#define OPSERVE_SERVER_PROGRAM_TOKEN_COMMAND_H_

#include <ostream>

#include "absl/time/time.h"
#include "server/program/program_options.h"

namespace opserve {

// Whether the command line asks for this, and not for a server.
bool IsTokenCommand(int argc, const char* const* argv);

// Does what the command line says, from "token" on, and prints to `out`, which is standard output;
// `now` is when. Returns code 0 without a text, or the error: 1 where a file cannot be read or
// written or there is no such token, and kExitUsage. A new token is nowhere but in `out`; where
// that does not take it, there is none.
EarlyExit RunTokenCommand(int argc, const char* const* argv, absl::Time now, std::ostream& out);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_TOKEN_COMMAND_H_
