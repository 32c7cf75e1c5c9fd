// File: server/program/printed.h
//
// What the program prints to standard output when it does not serve.

#ifndef OPSERVE_SERVER_PROGRAM_PRINTED_H_
#define OPSERVE_SERVER_PROGRAM_PRINTED_H_

#include <ostream>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/program/program_options.h"

namespace opserve {

// Exit code of a program that cannot do what it was told.
inline constexpr int kExitFailed = 1;

// Prints `text` to `out`, which is standard output. Fails where that does not take all of it.
absl::Status Print(absl::string_view text, std::ostream& out);

// What the program says of an error: kExitFailed, and a line with its name.
EarlyExit Failed(const absl::Status& status);

// Prints `text` as Print does. Code 0 without a text, or the error.
EarlyExit Printed(absl::string_view text, std::ostream& out);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_PRINTED_H_
