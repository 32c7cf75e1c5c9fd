// In which order connections are read by a program that polls them as gRPC does: edge-triggered,
// all that is ready, until nothing is there.

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "proto/packets/unique_fd.h"
#include "server/edge/connection_table.h"
#include "server/edge/polling.h"
#include "server/edge/received_bytes.h"

namespace opserve::testing {
namespace {

class ReadOrderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(SeesReceivedBytes());
    ASSERT_TRUE(SeesPolling());
  }

  void TearDown() override {
    for (const auto& [name, ends] : connections_) {
      WakeAll(turns_->Leave(*ConnectionOf(ends.server.get())));
      PutConnection(ends.server.get(), Untouched());
    }
  }

  void Connect(const std::string& name, const std::string& client) {
    std::array<int, 2> ends = {};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    Ends& connection = connections_[name];
    connection.server = UniqueFd(ends[0]);
    connection.client = UniqueFd(ends[1]);
    auto edge_connection =
        std::make_shared<EdgeConnection>(PeerIdentity(), CookieOf(ends[0]), true, FrameLimits(),
                                         std::make_shared<ClientTraffic>(), turns_);
    EXPECT_TRUE(turns_->SetClient(*edge_connection, client).empty());
    PutConnection(ends[0], std::move(edge_connection));
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.fd = ends[0];
    ASSERT_EQ(epoll_ctl(poller_.get(), EPOLL_CTL_ADD, ends[0], &event), 0);
  }

  void Send(const std::string& name, size_t bytes) {
    const std::string text(bytes, '\xff');
    ASSERT_EQ(send(connections_.at(name).client.get(), text.data(), bytes, 0),
              static_cast<ssize_t>(bytes));
  }

  // Reads until nothing happens any more; the names of the connections by rounds.
  std::vector<std::vector<std::string>> ReadAll() {
    std::vector<std::vector<std::string>> rounds;
    std::array<epoll_event, 64> events;
    while (true) {
      const int count = epoll_wait(poller_.get(), events.data(), events.size(), 0);
      if (count <= 0) return rounds;
      std::vector<std::string> names;
      for (int i = 0; i < count; ++i) {
        const int fd = events[static_cast<size_t>(i)].data.fd;
        const auto found =
            std::find_if(connections_.begin(), connections_.end(),
                         [fd](const auto& one) { return one.second.server.get() == fd; });
        for (int reads = Read(fd); reads > 0; --reads) names.push_back(found->first);
      }
      if (!names.empty()) rounds.push_back(std::move(names));
    }
  }

  // Has "g1" and "m" read, so that both clients are there, and then what `send` sends: the names of
  // the connections by rounds. Once more where that took so long that one of them may not count as
  // there any more.
  std::vector<std::vector<std::string>> ReadInTurns(const std::function<void()>& send) {
    // Less than the second for which clients count.
    constexpr std::chrono::milliseconds kLimit{900};
    while (true) {
      const auto start = std::chrono::steady_clock::now();
      Send("g1", 1);
      Send("m", 1);
      ReadAll();
      send();
      auto rounds = ReadAll();
      if (std::chrono::steady_clock::now() - start < kLimit) return rounds;
    }
  }

  const std::shared_ptr<ReadTurns> turns_ = std::make_shared<ReadTurns>();

 private:
  struct Ends {
    UniqueFd server;
    UniqueFd client;
  };

  // What stays in the table once a connection has ended.
  static std::shared_ptr<EdgeConnection> Untouched() {
    return std::make_shared<EdgeConnection>(PeerIdentity(), 0, true, FrameLimits(),
                                            std::make_shared<ClientTraffic>());
  }

  // Returns how often something came. Asks again at once where there was something before there
  // was nothing, as gRPC does.
  static int Read(int fd) {
    std::array<char, 4096> bytes;
    bool asks_again = false;
    for (int reads = 0;;) {
      iovec part = {bytes.data(), bytes.size()};
      msghdr message = {};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      if (recvmsg(fd, &message, 0) > 0) {
        ++reads;
        asks_again = true;
        continue;
      }
      EXPECT_EQ(errno, EAGAIN);
      if (!std::exchange(asks_again, false)) return reads;
    }
  }

  UniqueFd poller_{epoll_create1(EPOLL_CLOEXEC)};
  std::map<std::string, Ends> connections_;
};

TEST_F(ReadOrderTest, EveryoneReadsEverythingWhereNobodyElseIs) {
  for (const char* name : {"g1", "g2", "g3"}) {
    Connect(name, "greedy");
    Send(name, 6000);
  }
  const auto rounds = ReadAll();
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0], (std::vector<std::string>{"g1", "g1", "g2", "g2", "g3", "g3"}));
}

TEST_F(ReadOrderTest, AModestClientIsReadInItsRound) {
  for (const char* name : {"g1", "g2", "g3", "g4"}) Connect(name, "greedy");
  Connect("m", "modest");
  const auto rounds = ReadInTurns([this] {
    for (const char* name : {"g1", "g2", "g3", "g4"}) Send(name, 1);
    Send("m", 1);
  });
  // All are read, and nobody else waits for those of the greedy one.
  EXPECT_EQ(rounds, (std::vector<std::vector<std::string>>{{"g1", "m"}, {"g2"}, {"g3"}, {"g4"}}));
}

TEST_F(ReadOrderTest, LargeMessagesAreReadInTurns) {
  for (const char* name : {"g1", "g2"}) Connect(name, "greedy");
  Connect("m", "modest");
  const auto rounds = ReadInTurns([this] {
    for (const char* name : {"g1", "g2", "m"}) Send(name, 10000);
  });
  // The first asks for more before the second asks at all.
  EXPECT_EQ(rounds, (std::vector<std::vector<std::string>>{
                        {"g1", "m"}, {"g1", "m"}, {"g2", "m"}, {"g1"}, {"g2"}, {"g2"}}));
}

}  // namespace
}  // namespace opserve::testing
