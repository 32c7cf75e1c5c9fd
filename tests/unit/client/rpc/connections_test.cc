// Which connection a call takes, and how its sockets are closed. Nothing is sent.

#include "client/rpc/connections.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

// Without channels.
std::vector<ClientConnection> Unconnected(size_t count) {
  std::vector<ClientConnection> connections(count);
  for (ClientConnection& connection : connections) {
    connection.sockets = std::make_shared<Sockets>(/*is_local=*/true);
  }
  return connections;
}

TEST(ConnectionsTest, CallsTakeTheConnectionWithTheFewest) {
  Connections connections(Unconnected(3));
  const ClientConnection* const a = &connections.Begin();
  const ClientConnection* const b = &connections.Begin();
  const ClientConnection* const c = &connections.Begin();
  EXPECT_EQ((std::set{a, b, c}).size(), 3u);
  connections.End(*b);
  EXPECT_EQ(&connections.Begin(), b);
}

TEST(ConnectionsTest, CallsOneAfterTheOtherKeepOneConnectionWarm) {
  Connections connections(Unconnected(4));
  const ClientConnection* const first = &connections.Begin();
  connections.End(*first);
  for (int i = 0; i < 5; ++i) {
    const ClientConnection& connection = connections.Begin();
    EXPECT_EQ(&connection, first);
    connections.End(connection);
  }
}

// Two ends of a connection.
struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
  ~Pair() {
    for (const int end : ends) close(end);
  }
  bool IsShutDown() const {
    char byte;
    return recv(ends[1], &byte, 1, 0) == 0;
  }
  int ends[2];
};

TEST(SocketsTest, ShutsDownWhatItKnows) {
  Sockets sockets(true);
  const Pair first;
  const Pair second;
  const Pair unknown;
  sockets.Add(first.ends[0]);
  sockets.Add(second.ends[0]);
  sockets.ShutDown();
  EXPECT_TRUE(first.IsShutDown());
  EXPECT_TRUE(second.IsShutDown());
  EXPECT_FALSE(unknown.IsShutDown());
}

TEST(SocketsTest, LeavesAloneWhatHasTakenTheNumberOfAClosedSocket) {
  Sockets sockets(true);
  int number = -1;
  {
    const Pair closed;
    number = closed.ends[0];
    sockets.Add(number);
  }
  const Pair other;
  ASSERT_EQ(dup2(other.ends[0], number), number);
  sockets.ShutDown();
  EXPECT_FALSE(other.IsShutDown());
  if (number != other.ends[0]) close(number);
}

TEST(SocketsTest, LocalConnectionsUseCubicWhereThereIsCubic) {
  const auto control_of = [](bool is_local) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char before[16] = {};
    socklen_t size = sizeof(before);
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, before, &size), 0);
    const bool has_cubic = setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) == 0;
    EXPECT_EQ(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, before, size), 0);
    Sockets(is_local).Add(fd);
    char after[16] = {};
    size = sizeof(after);
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, after, &size), 0);
    close(fd);
    const char* const expected = is_local && has_cubic ? "cubic" : before;
    EXPECT_STREQ(after, expected);
  };
  control_of(true);
  control_of(false);
}

}  // namespace
}  // namespace opserve::client_internal
