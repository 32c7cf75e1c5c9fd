#include "server/rpc/call_context.h"

#include <gtest/gtest.h>

#include <string>

namespace opserve {
namespace {

TEST(ClientIdentityTest, ConnectionsOfAHostAreOneClient) {
  EXPECT_EQ(ClientIdentity("ipv4:10.0.0.7:41234", ""), "10.0.0.7");
  EXPECT_EQ(ClientIdentity("ipv4:10.0.0.7:41235", ""), "10.0.0.7");
  EXPECT_EQ(ClientIdentity("ipv6:%5B::1%5D:41234", ""), "%5B::1%5D");
  EXPECT_EQ(ClientIdentity("ipv6:[::1]:41234", ""), "[::1]");
}

TEST(ClientIdentityTest, OtherPeersStayAsTheyAre) {
  EXPECT_EQ(ClientIdentity("unix:/run/opserve.sock", ""), "unix:/run/opserve.sock");
  EXPECT_EQ(ClientIdentity("unix:", ""), "unix:");
  EXPECT_EQ(ClientIdentity("ipv4:", ""), "");
  EXPECT_EQ(ClientIdentity("", ""), "");
}

TEST(ClientIdentityTest, NamesDivideAHost) {
  EXPECT_EQ(ClientIdentity("ipv4:10.0.0.7:41234", "runner-3"), "10.0.0.7/runner-3");
}

TEST(ClientIdentityTest, LongNamesAreCut) {
  const std::string name(1000, 'x');
  EXPECT_EQ(ClientIdentity("ipv4:1.2.3.4:5", name).size(), 8 + kMaxClientNameBytes);
}

}  // namespace
}  // namespace opserve
