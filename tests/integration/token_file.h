// File: tests/integration/token_file.h
//
// A file of tokens for a server under test.

#ifndef OPSERVE_TESTS_INTEGRATION_TOKEN_FILE_H_
#define OPSERVE_TESTS_INTEGRATION_TOKEN_FILE_H_

#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "server/access/token_list.h"
#include "server/base/small_file.h"

namespace opserve::testing {

// A file in the folder for temporary ones, with a name that no other process has; removed in the
// end. One at a time in a process. Not thread-safe.
class TokenFile {
 public:
  TokenFile() = default;
  ~TokenFile() { std::remove(path_.c_str()); }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  const std::string& path() const { return path_; }

  // Adds a token for `name` that does not expire, and returns it. Fails the test where that fails.
  std::string Add(const std::string& name) {
    std::string token = MakeToken();
    EXPECT_TRUE(list_.Add(name, token, absl::InfiniteFuture()).ok());
    EXPECT_TRUE(ReplaceFile(path_, list_.ToText()).ok());
    return token;
  }

 private:
  const std::string path_ =
      ::testing::TempDir() + "opserve-" + std::to_string(getpid()) + ".tokens";
  TokenList list_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_TOKEN_FILE_H_
