// File: tests/testing/memory_shortage.h
//
// Has allocations fail. The operator new of a program that is linked with this is one of its own.

#ifndef OPSERVE_TESTS_TESTING_MEMORY_SHORTAGE_H_
#define OPSERVE_TESTS_TESTING_MEMORY_SHORTAGE_H_

#include <atomic>
#include <cstdint>

namespace opserve::testing {

// Whether the calling thread is one of those whose allocations may fail.
extern thread_local bool is_short_of_memory;
// How many allocations of such threads succeed, of all together, before all others fail.
extern std::atomic<int64_t> allocations_left;

// While it lives, this thread is one of them, and so many succeed.
class ScopedShortage {
 public:
  explicit ScopedShortage(int64_t allocations) {
    allocations_left = allocations;
    is_short_of_memory = true;
  }
  ~ScopedShortage() {
    is_short_of_memory = false;
    allocations_left = INT64_MAX;
  }
  ScopedShortage(const ScopedShortage&) = delete;
  ScopedShortage& operator=(const ScopedShortage&) = delete;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_MEMORY_SHORTAGE_H_
