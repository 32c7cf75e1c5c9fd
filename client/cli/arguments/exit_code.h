// File: client/cli/arguments/exit_code.h
//
// Exit codes of the `opserve` command; part of its interface, listed by --help.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_EXIT_CODE_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_EXIT_CODE_H_

namespace opserve::cli {

enum ExitCode {
  kSuccess = 0,
  kCallFailed = 1,   // the server refused or failed the call, or is not serving
  kUsage = 2,        // the command line is wrong
  kUnreachable = 3,  // no connection to the server
  kFileError = 4,    // a file cannot be read, understood or written
  kTestFailed = 5,   // a GPU failed its self-test, or there was no GPU to test
  kDenied = 6,       // the server does not know the caller, or does not let it
  kLeaseEnded = 7,   // a lease ended before the command that ran under it
  kDifferent = 8,    // results differ by more than the tolerance
};

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_EXIT_CODE_H_
