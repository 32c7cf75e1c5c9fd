// File: client/cli/arguments/nearest_name.h
//
// What a mistyped name may have been meant to be. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_NEAREST_NAME_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace opserve::cli {

// The one of `names` that differs from `text` by the fewest characters that are missing, added,
// replaced or swapped with their neighbour, or that begins with it; empty where none is near.
std::string NearestName(absl::string_view text, const std::vector<std::string>& names);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_NEAREST_NAME_H_
