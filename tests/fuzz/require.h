// What must hold in a fuzz target whatever the input is.

#ifndef OPSERVE_TESTS_FUZZ_REQUIRE_H_
#define OPSERVE_TESTS_FUZZ_REQUIRE_H_

#include <cstdlib>

namespace opserve::fuzz {

// Ends the program, which is a finding of libFuzzer, unless `holds`.
inline void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace opserve::fuzz

#endif  // OPSERVE_TESTS_FUZZ_REQUIRE_H_
