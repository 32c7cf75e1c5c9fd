#include "tests/testing/required.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace opserve::testing {

bool IsRequired(absl::string_view tool) {
  const char* const list = std::getenv("OPSERVE_REQUIRE");  // NOLINT(concurrency-mt-unsafe)
  if (list == nullptr) return false;
  const std::vector<absl::string_view> names = absl::StrSplit(list, ',');
  return std::find(names.begin(), names.end(), tool) != names.end();
}

void SkipWithout(absl::string_view tool, absl::string_view reason) {
  if (IsRequired(tool)) FAIL() << "OPSERVE_REQUIRE names " << tool << ": " << reason;
  GTEST_SKIP() << reason;
}

}  // namespace opserve::testing
