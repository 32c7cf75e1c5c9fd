// File: tests/integration/process_entries.h
//
// What this process has at a moment, for tests that nothing stays behind.

#ifndef OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_
#define OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {

inline long EntriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

// Threads but gRPC's, which starts more of its own when it is busy, and keeps them.
inline long OtherThreads() {
  constexpr std::array<absl::string_view, 5> kNamesOfGrpc = {"grpc", "default-executo",
                                                             "resolver-execut", "timer", "event"};
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::count_if(begin(tasks), end(tasks), [&](const auto& task) {
    std::string name;
    // Fails for one that has just ended.
    return std::getline(std::ifstream(task.path() / "comm"), name) &&
           std::none_of(kNamesOfGrpc.begin(), kNamesOfGrpc.end(),
                        [&](absl::string_view start) { return absl::StartsWith(name, start); });
  });
}

struct ProcessEntries {
  long files = EntriesOf("/proc/self/fd");
  long threads = OtherThreads();
};

// Waits until the process has no more than it had.
inline void ExpectNoMoreThan(const ProcessEntries& before) {
  EXPECT_TRUE(WaitUntil([&] { return ProcessEntries().files <= before.files; }));
  EXPECT_TRUE(WaitUntil([&] { return ProcessEntries().threads <= before.threads; }));
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_
