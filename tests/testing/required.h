// File: tests/testing/required.h
//
// Tests that need what not every machine has: skipped there, unless the machine must have it.

#ifndef OPSERVE_TESTS_TESTING_REQUIRED_H_
#define OPSERVE_TESTS_TESTING_REQUIRED_H_

#include "absl/strings/string_view.h"

namespace opserve::testing {

// Whether OPSERVE_REQUIRE, a list of names with commas between them, has `tool`. For scripts,
// required.py reads the same variable.
bool IsRequired(absl::string_view tool);

// Skips the running test for lack of `tool`, or fails it where the tool is required. To be called
// as the last of SetUp() or of a test: `return SkipWithout("gpu", reason);`
void SkipWithout(absl::string_view tool, absl::string_view reason);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_REQUIRED_H_
