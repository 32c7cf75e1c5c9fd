// File: client/cli/help/zsh_completion.h
//
// Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_HELP_ZSH_COMPLETION_H_
#define OPSERVE_CLIENT_CLI_HELP_ZSH_COMPLETION_H_

#include <string>

#include "client/cli/help/verb_help.h"

namespace opserve::cli {

// A function for zsh's completion system that completes what RenderBashCompletion does, with
// descriptions.
std::string RenderZshCompletion(const VerbHelp& root);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_HELP_ZSH_COMPLETION_H_
