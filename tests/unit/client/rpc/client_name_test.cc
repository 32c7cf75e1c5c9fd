// What a client may call itself.

#include "client/rpc/client_name.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using ::testing::HasSubstr;

TEST(ClientNameTest, PrintableAsciiOfEveryLengthUpToTheLimit) {
  std::string printable;
  for (char c = '!'; c <= '~'; ++c) printable += c;
  for (const std::string& name : {std::string(), std::string("a"), std::string("night run"),
                                  printable, std::string(kMaxClientNameBytes, 'x')}) {
    EXPECT_TRUE(CheckClientName(name).ok()) << name;
  }
}

TEST(ClientNameTest, EverythingElseIsRefused) {
  const absl::Status too_long = CheckClientName(std::string(kMaxClientNameBytes + 1, 'x'));
  EXPECT_EQ(too_long.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(too_long.message()), HasSubstr("129 bytes; at most 128"));
  for (const std::string& name :
       {std::string("a\nb"), std::string("\0", 1), std::string("a\tb"), std::string("\x7f"),
        std::string("caf\xc3\xa9"), std::string(" a"), std::string("a "), std::string(" ")}) {
    const absl::Status refused = CheckClientName(name);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("printable ASCII"));
  }
}

}  // namespace
}  // namespace opserve::client_internal
