#include "client/cli/arguments/nearest_name.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "proto/base/edit_distance.h"

namespace opserve::cli {
namespace {

constexpr size_t kMostEdits = 2;
// Shorter texts begin too many names.
constexpr size_t kLeastPrefix = 4;

}  // namespace

std::string NearestName(absl::string_view text, const std::vector<std::string>& names) {
  std::string nearest;
  size_t least = kMostEdits + 1;
  for (const std::string& name : names) {
    const size_t edits = EditDistance(text, name);
    if (edits >= least) continue;
    least = edits;
    nearest = name;
  }
  if (!nearest.empty() || text.size() < kLeastPrefix) return nearest;
  const auto longer = std::ranges::find_if(
      names, [&](const std::string& name) { return absl::StartsWith(name, text); });
  return longer == names.end() ? "" : *longer;
}

}  // namespace opserve::cli
