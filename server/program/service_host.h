// File: server/program/service_host.h
//
// Runs the program as the system's service manager wants it.

#ifndef OPSERVE_SERVER_PROGRAM_SERVICE_HOST_H_
#define OPSERVE_SERVER_PROGRAM_SERVICE_HOST_H_

#include <functional>

namespace opserve {

// What the program writes to standard error goes where its service manager wants it: on Windows,
// where nobody reads it, to the end of the file that $OPSERVE_SERVICE_LOG names, if it names one.
// To be called by main before anything is written. Returns false, with errno, where the file cannot
// be opened.
bool RouteServiceLog();

// Calls `run`, which returns the exit code, and returns that. Where Windows' service manager has
// started the program, `run` has a thread of the manager's, and the manager is told the code. To be
// called once, by main.
int RunHosted(const std::function<int()>& run);

// The program ends with `code` at once, and no destructor runs; a service manager is told the code.
[[noreturn]] void EndNow(int code);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_SERVICE_HOST_H_
