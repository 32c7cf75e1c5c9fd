// File: client/cli/help/man_page.h
//
// Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_HELP_MAN_PAGE_H_
#define OPSERVE_CLIENT_CLI_HELP_MAN_PAGE_H_

#include <string>

#include "client/cli/help/verb_help.h"

namespace opserve::cli {

// The manual page of the command in section 1, in the man macros of troff.
std::string RenderManPage(const VerbHelp& root);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_HELP_MAN_PAGE_H_
