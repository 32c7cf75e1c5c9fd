// File: client/cli/report.h
//
// How commands tell programs what they did, and how they fail: the message for people, the JSON
// object for programs, and the exit code. Stateless.

#ifndef OPSERVE_CLIENT_CLI_REPORT_H_
#define OPSERVE_CLIENT_CLI_REPORT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cli/arguments/exit_code.h"
#include "client/cli/terminal.h"

namespace opserve::cli {

// Prints what a command has for programs. Texts may be any bytes, such as names of files and
// labels: what is no UTF-8 comes out as U+FFFD.
void WriteJson(const nlohmann::ordered_json& json, const Terminal& terminal);

// Reports that a file, or what is in it, is at fault; returns kFileError. The message of `status`
// names the file.
int FailFile(const Terminal& terminal, bool json, const absl::Status& status);

// Reports what is wrong with a command line, the lines of `complaint`, as JSON, too, where it is
// among `arguments`; returns kUsage.
int FailArguments(const Terminal& terminal, const std::vector<std::string>& arguments,
                  absl::string_view complaint);

// Reports that what the command line asks for cannot be, where that showed only later; returns
// kUsage.
int FailUsage(const Terminal& terminal, bool json, const absl::Status& status);

// Reports that `what`, such as the name of an operator, failed at the server at `address`. Returns
// kUsage if options or address make no sense, kUnreachable if the server could not be reached,
// kDenied if it does not let the caller, else kCallFailed. Each violation that the error lists gets
// a line of its own, with the input where it is about one of `inputs`: files, and "tensor:HANDLE".
// The last line says which option is the cure, if one is, and which
// hosts there are where one had to be named.
int FailCall(const Terminal& terminal, bool json, absl::string_view what, absl::string_view address,
             const absl::Status& status, const std::vector<std::string>& inputs = {});

// What to exit with: `exit_code`, but kFileError where that says that all went well and standard
// output, which is flushed here, did not take what was printed. Reports that.
int WithOutput(const Terminal& terminal, int exit_code);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_REPORT_H_
