// File: tests/integration/process_entries.h
//
// What this process has at a moment, for tests that nothing stays behind.

#ifndef OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_
#define OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_

#include <filesystem>
#include <iterator>

#include "gtest/gtest.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {

inline long EntriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

struct ProcessEntries {
  long files = EntriesOf("/proc/self/fd");
  long threads = EntriesOf("/proc/self/task");
};

// Waits until the process has no more than it had.
inline void ExpectNoMoreThan(const ProcessEntries& before) {
  EXPECT_TRUE(WaitUntil([&] { return ProcessEntries().files <= before.files; }));
  EXPECT_TRUE(WaitUntil([&] { return ProcessEntries().threads <= before.threads; }));
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_
