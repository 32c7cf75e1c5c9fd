// File: client/cli/commands.h
//
// The verbs of `opserve`. Each prints to the terminal and returns the exit code. Not thread-safe:
// one command runs at a time.

#ifndef OPSERVE_CLIENT_CLI_COMMANDS_H_
#define OPSERVE_CLIENT_CLI_COMMANDS_H_

#include "client/cli/arguments/arguments.h"
#include "client/cli/terminal.h"

namespace opserve::cli {

int RunCommand(const RunArguments& arguments, const Terminal& terminal);
int RunCommand(const CompareArguments& arguments, const Terminal& terminal);
int RunCommand(const InputsArguments& arguments, const Terminal& terminal);
int RunCommand(const OperatorsArguments& arguments, const Terminal& terminal);
int RunCommand(const InfoArguments& arguments, const Terminal& terminal);
int RunCommand(const DevicesArguments& arguments, const Terminal& terminal);
int RunCommand(const HealthArguments& arguments, const Terminal& terminal);
int RunCommand(const BenchArguments& arguments, const Terminal& terminal);
int RunCommand(const PackArguments& arguments, const Terminal& terminal);
int RunCommand(const SequenceArguments& arguments, const Terminal& terminal);
int RunCommand(const TensorCreateArguments& arguments, const Terminal& terminal);
int RunCommand(const TensorWriteArguments& arguments, const Terminal& terminal);
int RunCommand(const TensorReadArguments& arguments, const Terminal& terminal);
int RunCommand(const TensorListArguments& arguments, const Terminal& terminal);
int RunCommand(const TensorRenewArguments& arguments, const Terminal& terminal);
int RunCommand(const TensorDeleteArguments& arguments, const Terminal& terminal);
int RunCommand(const LeaseArguments& arguments, const Terminal& terminal);
int RunCommand(const LeasesArguments& arguments, const Terminal& terminal);
int RunCommand(const EndLeaseArguments& arguments, const Terminal& terminal);
int RunCommand(const SetAsideArguments& arguments, const Terminal& terminal);
int RunCommand(const ResumeArguments& arguments, const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_COMMANDS_H_
