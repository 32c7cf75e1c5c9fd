// File: tests/unit/kernels/sequence_fixture.h
//
// A valid sequence for tests of what is made of it.

#ifndef OPSERVE_TESTS_UNIT_KERNELS_SEQUENCE_FIXTURE_H_
#define OPSERVE_TESTS_UNIT_KERNELS_SEQUENCE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>

#include "tests/testing/sequence_builder.h"

namespace opserve::testing {

class ValidSequenceTest : public ::testing::Test {
 protected:
  // What builder_ has, which must be valid; else the test fails and has an empty one.
  const SequenceInvocation& Make() {
    SequenceValidationResult result = builder_.Validate();
    for (const Violation& violation : result.violations) {
      ADD_FAILURE() << violation.field << ": " << violation.description;
    }
    sequence_ =
        result.sequence != nullptr ? result.sequence : std::make_shared<const SequenceInvocation>();
    return *sequence_;
  }

  SequenceBuilder builder_;
  std::shared_ptr<const SequenceInvocation> sequence_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_KERNELS_SEQUENCE_FIXTURE_H_
