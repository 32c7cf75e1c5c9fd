// File: proto/base/edit_distance.h
//
// How far a mistyped name is from another one.

#ifndef OPSERVE_PROTO_BASE_EDIT_DISTANCE_H_
#define OPSERVE_PROTO_BASE_EDIT_DISTANCE_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/strings/string_view.h"

namespace opserve {

// Edits from one text to the other, each a character that is missing, added, replaced or swapped
// with its neighbour: the distance of Damerau and Levenshtein, without edits of what was swapped.
// Takes time by the product of the lengths.
inline size_t EditDistance(absl::string_view a, absl::string_view b) {
  // Per beginning of `b`, to it from that of `a` of now, and from those shorter by one and by two.
  std::vector<size_t> edits(b.size() + 1);
  std::iota(edits.begin(), edits.end(), size_t{0});
  std::vector<size_t> last = edits;
  std::vector<size_t> second_last = edits;
  for (size_t i = 1; i <= a.size(); ++i) {
    second_last.swap(last);
    last.swap(edits);
    edits[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      edits[j] = std::min({last[j] + 1, edits[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) edits[j] = std::min(edits[j], second_last[j - 2] + 1);
    }
  }
  return edits[b.size()];
}

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_EDIT_DISTANCE_H_
