#include "kernels/operator_hint.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/op_table.h"

namespace opserve {

std::string OperatorHint(absl::string_view name, absl::string_view otherwise) {
  const std::vector<absl::string_view> near = NearestOperators(name);
  if (near.empty()) return std::string(otherwise);
  return absl::StrCat("; did you mean ", absl::StrJoin(near, " or "), "?");
}

}  // namespace opserve
