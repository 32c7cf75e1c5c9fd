// Socket files, and descriptors that come over them.

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "proto/packets/bound_file.h"
#include "proto/packets/foreign_descriptors.h"
#include "server/edge/listening_socket.h"
#include "server/edge/stale_socket.h"
#include "tests/unit/server/edge/lingering_socket.h"

namespace opserve::testing {
namespace {

class SocketFilesTest : public ::testing::Test {
 protected:
  SocketFilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "opserve-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = (folder_ / "socket").string();
  }
  ~SocketFilesTest() override { std::filesystem::remove_all(folder_); }

  UniqueFd ListenHere(int backlog) const {
    UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = UnixAddress(path_);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(listen(listener.get(), backlog), 0);
    return listener;
  }

  UniqueFd Connect() const {
    UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = UnixAddress(path_);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    return client;
  }

  std::filesystem::path folder_;
  std::string path_;
};

// Two sockets of the same type that are connected.
struct Pair {
  explicit Pair(int type) {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()), 0);
    server = UniqueFd(ends[0]);
    client = UniqueFd(ends[1]);
  }
  UniqueFd server;
  UniqueFd client;
};

TEST_F(SocketFilesTest, AServerThatIsBehindIsAServer) {
  const UniqueFd listener = ListenHere(0);
  const UniqueFd queued = Connect();
  EXPECT_EQ(RemoveStaleSocket(path_).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFilesTest, SocketsOfOtherTypesAreServers) {
  const UniqueFd other(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const sockaddr_un address = UnixAddress(path_);
  ASSERT_EQ(bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(other.get(), 1), 0);
  EXPECT_EQ(RemoveStaleSocket(path_).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFilesTest, AServerRemovesItsOwnFile) {
  ListenAddress address;
  address.unix_path = path_;
  auto listening = ListenAt(address);
  ASSERT_TRUE(listening.ok()) << listening.status();
  listening->file.Remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SocketFilesTest, TheFileOfAnotherServerStays) {
  ListenAddress address;
  address.unix_path = path_;
  auto listening = ListenAt(address);
  ASSERT_TRUE(listening.ok()) << listening.status();
  // The number of a file that is gone may be given to the next one.
  std::filesystem::rename(path_, folder_ / "away");
  const UniqueFd other = ListenHere(1);
  listening->file.Remove();
  EXPECT_TRUE(std::filesystem::exists(path_));
  listening->file.Remove();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFilesTest, OfServersThatStartAtOnceOneReplacesADeadOnesFile) {
  ListenAddress address;
  address.unix_path = path_;
  // Without turns some of these have two servers.
  for (int round = 0; round < 50; ++round) {
    ListenHere(1);
    std::atomic<int> refused = 0;
    std::vector<absl::StatusOr<ListeningSockets>> listening(4);
    std::vector<std::thread> threads;
    for (auto& mine : listening) {
      threads.emplace_back([&] {
        mine = ListenAt(address);
        if (absl::IsAlreadyExists(mine.status())) ++refused;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(refused, 3);
    Connect();
    for (auto& mine : listening) {
      if (mine.ok()) mine->file.Remove();
    }
    // Nothing stays beside it.
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
  }
}

TEST_F(SocketFilesTest, AFileGoesWithItsOwner) {
  ListenAddress address;
  address.unix_path = path_;
  {
    auto listening = ListenAt(address);
    ASSERT_TRUE(listening.ok()) << listening.status();
    const ListeningSockets moved = *std::move(listening);
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));

  const UniqueFd other = ListenHere(1);
  BoundFile(path_).Release();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFilesTest, NoFileIsRemovedWhereThereWasNone) {
  BoundFile none(path_);
  const UniqueFd other = ListenHere(1);
  none.Remove();
  BoundFile().Remove();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SocketFilesTest, DescriptorsCannotBeSent) {
  ListenAddress address;
  address.unix_path = path_;
  const auto listening = ListenAt(address);
  ASSERT_TRUE(listening.ok()) << listening.status();
  const UniqueFd client = Connect();
  LingeringSocket slow;
  if (slow.Leave(client, "x")) {
    // Else this test waits for the end of it.
    const UniqueFd accepted(accept(listening->sockets.front().get(), nullptr, nullptr));
    DropUnread(accepted.get());
    GTEST_SKIP() << "the system has no SO_PASSRIGHTS";
  }
  EXPECT_EQ(errno, EPERM);
}

TEST(ForeignDescriptorsTest, ClosingThemTakesNoTime) {
  const Pair pair(SOCK_STREAM);
  LingeringSocket slow;
  ASSERT_TRUE(slow.Leave(pair.client, "x"));
  std::array<char, 8> bytes;
  ForeignDescriptorRoom room;
  iovec vector = {bytes.data(), bytes.size()};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = room.bytes;
  message.msg_controllen = sizeof(room.bytes);
  ASSERT_EQ(recvmsg(pair.server.get(), &message, MSG_CMSG_CLOEXEC), 1);
  EXPECT_TRUE(CloseForeign(message));
  message.msg_controllen = 0;
  EXPECT_FALSE(CloseForeign(message));
}

TEST(ForeignDescriptorsTest, ThoseWithinOthersKeepNobodyWaiting) {
  Pair inner(SOCK_STREAM);
  LingeringSocket slow;
  ASSERT_TRUE(slow.Leave(inner.client, "x"));
  CloseForeign(std::move(inner.server));
}

class DropUnreadTest : public ::testing::TestWithParam<int> {};

TEST_P(DropUnreadTest, ReceivesWhatIsThereAndNothingMore) {
  const Pair pair(GetParam());
  for (int i = 0; i < 3; ++i) {
    LingeringSocket slow;
    ASSERT_TRUE(slow.Leave(pair.client, "x"));
    // Of packets, an empty one is one as well.
    ASSERT_EQ(send(pair.client.get(), "", 0, 0), 0);
  }
  DropUnread(pair.server.get());
  char byte = 0;
  EXPECT_EQ(recv(pair.server.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_LT(send(pair.client.get(), "x", 1, MSG_NOSIGNAL), 0);
  EXPECT_EQ(errno, EPIPE);
}

TEST(DropUnreadOutOfBandTest, DoesNotWaitForWhatTheKernelWouldDrop) {
  const Pair pair(SOCK_STREAM);
  LingeringSocket slow;
  ASSERT_TRUE(slow.Leave(pair.client, "x", MSG_OOB));
  ASSERT_EQ(send(pair.client.get(), "y", 1, 0), 1);
  DropUnread(pair.server.get());
}

INSTANTIATE_TEST_SUITE_P(Types, DropUnreadTest, ::testing::Values(SOCK_STREAM, SOCK_SEQPACKET));

}  // namespace
}  // namespace opserve::testing
