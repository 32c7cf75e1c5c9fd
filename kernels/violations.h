// File: kernels/violations.h
//
// Collecting violations, and wording them. Internal to kernels/.

#ifndef OPSERVE_KERNELS_VIOLATIONS_H_
#define OPSERVE_KERNELS_VIOLATIONS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/utf8.h"
#include "kernels/validate.h"

namespace opserve {

// Collects violations.
class ViolationList {
 public:
  // Adds one; `parts` are joined to its description.
  template <class... Parts>
  void Add(absl::string_view field, const Parts&... parts) {
    violations_.push_back({std::string(field), absl::StrCat(parts...)});
  }

  size_t size() const { return violations_.size(); }
  bool empty() const { return violations_.empty(); }
  std::vector<Violation> Take() { return std::move(violations_); }

 private:
  std::vector<Violation> violations_;
};

// Client text for messages: quoted, and cut where it is long.
inline std::string Quoted(absl::string_view text) {
  constexpr size_t kMostShown = 64;
  return absl::StrCat("\"", TruncateUtf8(text, kMostShown), "\"");
}

}  // namespace opserve

#endif  // OPSERVE_KERNELS_VIOLATIONS_H_
