#include "server/rpc/call_context.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/edge/connection_table.h"

namespace opserve {
namespace {

TEST(ClientIdentityTest, ConnectionsOfAHostAreOneClient) {
  EXPECT_EQ(ClientIdentity("ipv4:10.0.0.7:41234", ""), "10.0.0.7");
  EXPECT_EQ(ClientIdentity("ipv4:10.0.0.7:41235", ""), "10.0.0.7");
  EXPECT_EQ(ClientIdentity("ipv6:%5B::1%5D:41234", ""), "[::1]");
  EXPECT_EQ(ClientIdentity("ipv6:[::1]:41234", ""), "[::1]");
}

TEST(ClientIdentityTest, OtherPeersStayAsTheyAre) {
  EXPECT_EQ(ClientIdentity("unix:/run/opserve.sock", ""), "unix:/run/opserve.sock");
  EXPECT_EQ(ClientIdentity("unix:", ""), "unix:");
  EXPECT_EQ(ClientIdentity("ipv4:", ""), "");
  EXPECT_EQ(ClientIdentity("", ""), "");
}

TEST(ClientIdentityTest, UsersOfASocketFileAreClientsWhateverTheirNames) {
  PeerIdentity peer;
  peer.transport = PeerTransport::kUnixSocket;
  peer.uid = 1000;
  const auto waiting_calls = std::make_shared<WaitingCalls>(0);
  PutConnection(5000,
                std::make_shared<EdgeConnection>(peer, 1, false, FrameLimits(), waiting_calls));
  peer.uid = 1001;
  PutConnection(5001,
                std::make_shared<EdgeConnection>(peer, 2, false, FrameLimits(), waiting_calls));
  EXPECT_EQ(ClientIdentity("fd:5000", ""), "uid:1000");
  EXPECT_EQ(ClientIdentity("fd:5000", "runner-3"), "uid:1000/runner-3");
  EXPECT_EQ(ClientIdentity("fd:5001", "runner-3"), "uid:1001/runner-3");
  EXPECT_EQ(ClientIdentity("fd:5002", ""), "fd:5002");
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
