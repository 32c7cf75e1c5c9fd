#include "client/cli/arguments/nearest_name.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace opserve::cli {
namespace {

constexpr size_t kMostEdits = 2;
// Shorter texts begin too many names.
constexpr size_t kLeastPrefix = 4;

// Edits from one text to the other: the distance of Damerau and Levenshtein, without edits of what
// was swapped.
size_t EditsBetween(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> edits(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) edits[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) edits[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[i][j] = std::min({edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string NearestName(absl::string_view text, const std::vector<std::string>& names) {
  std::string nearest;
  size_t least = kMostEdits + 1;
  for (const std::string& name : names) {
    const size_t edits = EditsBetween(text, name);
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
