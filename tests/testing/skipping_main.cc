// The main function of test programs that can skip tests: tells by the exit status that they did.
// GoogleTest prints their reasons.

#include "gtest/gtest.h"

namespace {

// What ctest takes for a skipped test: SKIP_RETURN_CODE in deploy/cmake/OpserveTargets.cmake.
constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) return failed;
  return testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? kSkipped : 0;
}
