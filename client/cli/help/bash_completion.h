// File: client/cli/help/bash_completion.h
//
// Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_HELP_BASH_COMPLETION_H_
#define OPSERVE_CLIENT_CLI_HELP_BASH_COMPLETION_H_

#include <string>

#include "client/cli/help/verb_help.h"

namespace opserve::cli {

// A script for bash that completes verbs, options and their values: choices, and names of files.
std::string RenderBashCompletion(const VerbHelp& root);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_HELP_BASH_COMPLETION_H_
