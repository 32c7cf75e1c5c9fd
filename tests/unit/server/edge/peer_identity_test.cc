#include "server/edge/peer_identity.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "proto/packets/unique_fd.h"
#include "server/edge/connection_table.h"
#include "server/edge/listen_address.h"

namespace opserve {
namespace {

std::string HostOf(absl::string_view peer) { return IdentityOf(peer).Host(); }

TEST(PeerIdentityTest, ConnectionsOfAHostAreOneClient) {
  EXPECT_EQ(HostOf("ipv4:10.0.0.7:41234"), "10.0.0.7");
  EXPECT_EQ(HostOf("ipv4:10.0.0.7:41235"), "10.0.0.7");
  EXPECT_EQ(HostOf("ipv6:%5B::1%5D:41234"), "[::1]");
  EXPECT_EQ(HostOf("ipv6:[::1]:41234"), "[::1]");
}

// Limits of connections and shares of the server go by the same word.
TEST(PeerIdentityTest, AddressesOfAnIpv6NetworkAreOneClient) {
  EXPECT_EQ(HostOf("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:41234"), "[2001:db8:1:2::]/64");
  EXPECT_EQ(HostOf("ipv6:%5B2001:db8:1:2:ffff::1%5D:41234"), "[2001:db8:1:2::]/64");
  EXPECT_EQ(HostOf("ipv6:%5B2001:db8:1:3::1%5D:41234"), "[2001:db8:1:3::]/64");
  EXPECT_EQ(HostOf("ipv6:%5Bfe80::1%25eth0%5D:41234"), "[fe80::]/64");
  EXPECT_EQ(HostOf("ipv6:%5B::ffff:10.0.0.7%5D:41234"), "10.0.0.7");
  sockaddr_storage from = {};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(from);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_addr = *ParseIpAddress("2001:db8:1:2:3:4:5:6");
  EXPECT_EQ(TcpPeerOf(from).Host(), "[2001:db8:1:2::]/64");
  ipv6.sin6_addr = *ParseIpAddress("10.0.0.7");
  EXPECT_EQ(TcpPeerOf(from).Host(), "10.0.0.7");
}

TEST(PeerIdentityTest, OtherPeersStayAsTheyAre) {
  EXPECT_EQ(HostOf("unix:/run/opserve.sock"), "unix:/run/opserve.sock");
  EXPECT_EQ(HostOf("unix:"), "unix:");
  EXPECT_EQ(HostOf("ipv4:"), "");
  EXPECT_EQ(HostOf(""), "");
}

TEST(PeerIdentityTest, UsersOfASocketFileAreClients) {
  PeerIdentity peer;
  peer.transport = PeerTransport::kUnixSocket;
  peer.uid = 1000;
  const auto traffic = std::make_shared<ClientTraffic>();
  PutConnection(5000, std::make_shared<EdgeConnection>(peer, 1, false, FrameLimits(), traffic));
  peer.uid = 1001;
  PutConnection(5001, std::make_shared<EdgeConnection>(peer, 2, false, FrameLimits(), traffic));
  EXPECT_EQ(HostOf("fd:5000"), "uid:1000");
  EXPECT_EQ(HostOf("fd:5001"), "uid:1001");
  EXPECT_EQ(HostOf("fd:5002"), "fd:5002");
  EXPECT_TRUE(IdentityOf("fd:5000").IsLocal());
  EXPECT_FALSE(IdentityOf("fd:5002").IsLocal());
}

TEST(PeerIdentityTest, TheSystemTellsWhoConnectedToASocketFile) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd here(ends[0]);
  const UniqueFd there(ends[1]);
  const auto peer = UnixPeerOf(here.get());
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(peer->transport, PeerTransport::kUnixSocket);
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_FALSE(UnixPeerOf(-1).has_value());
}

TEST(PeerIdentityTest, LocalIsThisMachineAlone) {
  for (const char* peer : {"ipv4:127.0.0.1:1", "ipv4:127.9.9.9:1", "ipv6:%5B::1%5D:1",
                           "unix:", "ipv6:%5B::ffff:127.0.0.1%5D:1"}) {
    EXPECT_TRUE(IdentityOf(peer).IsLocal()) << peer;
  }
  for (const char* peer : {"ipv4:10.0.0.7:1", "ipv4:128.0.0.1:1", "ipv6:%5B2001:db8::1%5D:1",
                           "ipv6:%5B::2%5D:1", "ipv4:", "", "inproc:1", "dns:localhost"}) {
    EXPECT_FALSE(IdentityOf(peer).IsLocal()) << peer;
  }
}

TEST(PeerIdentityTest, ReadsAddresses) {
  for (const char* text : {"10.0.0.7", "::1", "[::1]", "[fe80::1%eth0]", "2001:db8::"}) {
    EXPECT_TRUE(ParseIpAddress(text).has_value()) << text;
  }
  for (const char* text : {"", "10.0.0", "10.0.0.256", "[::1", "localhost", "10.0.0.7/8",
                           "1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:aaaa:bbbb"}) {
    EXPECT_FALSE(ParseIpAddress(text).has_value()) << text;
  }
}

TEST(PeerIdentityTest, KnowsWhereOtherMachinesCannotReach) {
  for (const char* text : {"127.0.0.1:0", "127.1.2.3:0", "[::1]:0", "localhost:0", "unix:/x"}) {
    EXPECT_TRUE(ParseListenAddress(text)->IsLocal()) << text;
  }
  for (const char* text : {"0.0.0.0:0", "[::]:0", "10.0.0.7:0", "farm.example:0"}) {
    EXPECT_FALSE(ParseListenAddress(text)->IsLocal()) << text;
  }
}

}  // namespace
}  // namespace opserve
