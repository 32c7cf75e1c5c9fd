// File: tests/integration/wait_until.h
//
// Waiting for what another thread or process does.

#ifndef OPSERVE_TESTS_INTEGRATION_WAIT_UNTIL_H_
#define OPSERVE_TESTS_INTEGRATION_WAIT_UNTIL_H_

#include <chrono>
#include <thread>

namespace opserve::testing {

// Asks until `condition` holds. False where it does not after a minute.
template <class Condition>
bool WaitUntil(Condition condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_WAIT_UNTIL_H_
