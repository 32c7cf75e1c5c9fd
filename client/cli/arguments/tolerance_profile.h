// File: client/cli/arguments/tolerance_profile.h
//
// Tolerances that somebody else published, per operator and type of its result. Stateless and safe
// to use from any thread.

#ifndef OPSERVE_CLIENT_CLI_ARGUMENTS_TOLERANCE_PROFILE_H_
#define OPSERVE_CLIENT_CLI_ARGUMENTS_TOLERANCE_PROFILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "opserve/compare.h"

namespace opserve::cli {

enum class ToleranceProfile {
  kNone,   // the tolerance is given
  kWebnn,  // of WebNN's conformance tests; the rows are in webnn_tolerances.def
};

// "NONE", "WEBNN".
absl::string_view NameOf(ToleranceProfile profile);

// What is wrong with judging an operator by a profile; empty: nothing. That it has no row, and what
// to do.
std::string ComplaintAbout(ToleranceProfile profile, absl::string_view operator_name);

// The tolerance for results of that type. NOT_FOUND where there is none.
absl::StatusOr<Tolerance> ToleranceOf(ToleranceProfile profile, absl::string_view operator_name,
                                      DataType type);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_ARGUMENTS_TOLERANCE_PROFILE_H_
