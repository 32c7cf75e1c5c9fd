// File: kernels/operator_hint.h
//
// What to say to somebody who named an operator that there is not. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_KERNELS_OPERATOR_HINT_H_
#define OPSERVE_KERNELS_OPERATOR_HINT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// The end of a sentence that says that there is no operator `name`: "; did you mean A or B?", or
// `otherwise` where nothing is near.
std::string OperatorHint(absl::string_view name, absl::string_view otherwise = ".");

}  // namespace opserve

#endif  // OPSERVE_KERNELS_OPERATOR_HINT_H_
