// File: client/cli/console.h
//
// The console that the command writes to.

#ifndef OPSERVE_CLIENT_CLI_CONSOLE_H_
#define OPSERVE_CLIENT_CLI_CONSOLE_H_

namespace opserve::cli {

// Whether standard output (1) or standard error (2) is a console that shows colours, which it is
// from then on. Safe to use from any thread.
bool IsConsole(int descriptor);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_CONSOLE_H_
