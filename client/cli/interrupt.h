// File: client/cli/interrupt.h
//
// Ctrl-C as a question.

#ifndef OPSERVE_CLIENT_CLI_INTERRUPT_H_
#define OPSERVE_CLIENT_CLI_INTERRUPT_H_

#include <atomic>

namespace opserve::cli {

// From now on the first Ctrl-C sets `interrupted`, which must live as long as the program; a second
// one ends the program.
void CatchInterrupt(std::atomic<bool>& interrupted);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_INTERRUPT_H_
