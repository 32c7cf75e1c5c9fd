// File: client/cli/arguments/verbs.h
//
// Adds the verbs of `opserve` to the command line. Where the verb is chosen, its arguments become
// `command`, which must outlive the parse. Not thread-safe.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_VERBS_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_VERBS_H_

#include "client/cli/arguments/arguments.h"
#include "client/cli/arguments/verb.h"

namespace opserve::cli {

void AddRun(Verb root, Command& command);
void AddCompare(Verb root, Command& command);
void AddInputs(Verb root, Command& command);
void AddPack(Verb root, Command& command);
void AddSequence(Verb root, Command& command);
void AddTensor(Verb root, Command& command);
void AddBench(Verb root, Command& command);
void AddOperators(Verb root, Command& command);
void AddInfo(Verb root, Command& command);
void AddDevices(Verb root, Command& command);
void AddLease(Verb root, Command& command);
void AddLeases(Verb root, Command& command);
void AddAdmin(Verb root, Command& command);
void AddHealth(Verb root, Command& command);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_VERBS_H_
