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
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {

inline long EntriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}

// Names of the threads but those of libraries that start more of their own when they are busy, and
// keep them: gRPC's, and those of Mesa that write compiled shaders to its cache, a second one where
// the cache is empty.
inline std::vector<std::string> OtherThreads() {
  constexpr std::array<absl::string_view, 5> kNamesOfGrpc = {"grpc", "default-executo",
                                                             "resolver-execut", "timer", "event"};
  constexpr absl::string_view kWriterOfMesa = ":disk$";
  std::vector<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    // Fails for one that has just ended.
    if (std::getline(std::ifstream(task.path() / "comm"), name) &&
        !absl::StrContains(name, kWriterOfMesa) &&
        std::none_of(kNamesOfGrpc.begin(), kNamesOfGrpc.end(),
                     [&](absl::string_view start) { return absl::StartsWith(name, start); })) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

struct ProcessEntries {
  long files = EntriesOf("/proc/self/fd");
  std::vector<std::string> threads = OtherThreads();
};

// Waits until the process has no more than it had.
inline void ExpectNoMoreThan(const ProcessEntries& before) {
  EXPECT_TRUE(WaitUntil([&] { return ProcessEntries().files <= before.files; }));
  EXPECT_TRUE(WaitUntil([&] { return OtherThreads().size() <= before.threads.size(); }))
      << ::testing::PrintToString(OtherThreads()) << " in place of "
      << ::testing::PrintToString(before.threads);
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_PROCESS_ENTRIES_H_
