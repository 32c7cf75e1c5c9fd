// Which errors of accept() say something of the next connection.

#include "server/base/accept_pause.h"

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

TEST(AcceptPauseTest, WhatTheProcessOrTheSystemLacksIsLackingAgainAtOnce) {
  for (const int error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    EXPECT_TRUE(NeedsAcceptPause(error)) << error;
  }
}

// A client that is gone, or a network that is down for it, keeps nobody else waiting.
TEST(AcceptPauseTest, WhatIsWrongWithOneConnectionIsNotWithTheNext) {
  for (const int error : {EAGAIN, EINTR, ECONNABORTED, EPERM, EPROTO, ENETDOWN, EHOSTUNREACH}) {
    EXPECT_FALSE(NeedsAcceptPause(error)) << error;
  }
}

}  // namespace
}  // namespace opserve::testing
