// The socket of regions, and what clients may do to it.

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/errors/errors.h"
#include "server/regions/region_socket.h"
#include "tests/testing/region_client.h"
#include "tests/testing/test_segment.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/edge/lingering_socket.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

constexpr RegionCaller kLocalCaller = {"127.0.0.1"};

// Descriptors that this process has open.
int OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

class RegionSocketTest : public ::testing::Test {
 protected:
  RegionSocketTest() {
    char pattern[] = "/tmp/opserve-regions-XXXXXX";
    folder_ = mkdtemp(pattern);
    options_.path = folder_ + "/regions";
  }
  ~RegionSocketTest() override {
    socket_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    auto socket = RegionSocket::Start(options_, table_, clock_);
    ASSERT_TRUE(socket.ok()) << socket.status();
    socket_ = *std::move(socket);
  }

  // Returns once the server knows the client.
  static void Greet(const RegionClient& client) {
    EXPECT_EQ(ReasonOf(client.Ask(UnregisterPacket("x"))), "REGION_NOT_FOUND");
  }

  std::string folder_;
  RegionSocketOptions options_;
  RegionTable table_{{.max_bytes = 1 << 20, .max_regions = 4}};
  SimulatedClock clock_;
  std::unique_ptr<RegionSocket> socket_;
};

TEST_F(RegionSocketTest, RegistersAndUnregisters) {
  Start();
  const RegionClient client(options_.path);
  const SharedMemory memory(1000);
  const std::string id = client.Register(memory);
  ASSERT_NE(table_.Find(id, kLocalCaller), nullptr);
  EXPECT_EQ(table_.Find(id, kLocalCaller)->bytes(), 1000);
  EXPECT_EQ(client.Ask(UnregisterPacket(id)).region(), id);
  EXPECT_EQ(table_.Find(id, kLocalCaller), nullptr);
  EXPECT_EQ(ReasonOf(client.Ask(UnregisterPacket(id))), "REGION_NOT_FOUND");
}

TEST_F(RegionSocketTest, UsersWhoMayNotUseItAreToldSo) {
  bool may_use = true;
  options_.may_use = [&may_use](uid_t user) {
    EXPECT_EQ(user, getuid());
    return may_use ? absl::OkStatus()
                   : MakeError(ErrorReason::ROLE_REQUIRED, "You need the role regions.");
  };
  Start();
  const RegionClient client(options_.path);
  const std::string id = client.Register(SharedMemory(1000));
  may_use = false;
  EXPECT_EQ(ReasonOf(client.Ask(UnregisterPacket(id))), "ROLE_REQUIRED");
  const RegionClient late(options_.path);
  EXPECT_EQ(ReasonOf(late.Ask(UnregisterPacket("x"))), "ROLE_REQUIRED");
  // What was shared before stays.
  EXPECT_NE(table_.Find(id, kLocalCaller), nullptr);
}

TEST_F(RegionSocketTest, OtherConnectionsCannotUnregister) {
  Start();
  const RegionClient client(options_.path);
  const RegionClient other(options_.path);
  const std::string id = client.Register(SharedMemory(1000));
  EXPECT_EQ(ReasonOf(other.Ask(UnregisterPacket(id))), "REGION_NOT_FOUND");
  EXPECT_NE(table_.Find(id, kLocalCaller), nullptr);
}

TEST_F(RegionSocketTest, AnswersWithWhatIsWrong) {
  Start();
  const RegionClient client(options_.path);
  const UniqueFd fd = MakeMemfd(100);
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(101), fd.get())), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(100), MakeMemfd(100, 0).get())), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(2 << 20), MakeMemfd(2 << 20).get())),
            "REGION_QUOTA");
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(100), fd.get())), "OK");
}

TEST_F(RegionSocketTest, AnswersMalformedPacketsAndGoesOn) {
  Start();
  const RegionClient client(options_.path);
  const UniqueFd fd = MakeMemfd(100);
  const std::string large(kMaxPacketBytes + 1, '\0');
  Greet(client);
  const int before = OpenDescriptors();
  EXPECT_EQ(ReasonOf(client.Ask("\xff\xff")), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask("\xff\xff", fd.get())), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(large)), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(large, fd.get())), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(100))), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(UnregisterPacket("x"), fd.get())), "INVALID_REQUEST");
  // A field that this server does not know, and nothing else.
  EXPECT_EQ(ReasonOf(client.Ask(std::string("\x78\x01", 2))), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(100), fd.get())), "OK");
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(RegionSocketTest, TakesNoNamesUnlessToldTo) {
  Start();
  const RegionClient client(options_.path);
  const TestSegment segment(100);
  EXPECT_EQ(ReasonOf(client.Ask(segment.RegisterPacket())), "POSIX_SHARED_MEMORY_OFF");
  EXPECT_EQ(table_.size(), 0);
}

TEST_F(RegionSocketTest, RegistersByName) {
  options_.takes_names = true;
  Start();
  const TestSegment segment(100);
  {
    const RegionClient client(options_.path);
    const std::string id = client.Register(segment.RegisterPacket());
    ASSERT_NE(table_.Find(id, kLocalCaller), nullptr);
    segment.memory().data()[99] = std::byte{3};
    EXPECT_EQ(*table_.Find(id, kLocalCaller)->At(99, 1), std::byte{3});
    EXPECT_EQ(ReasonOf(client.Ask(segment.RegisterPacket(), segment.memory().fd().get())),
              "INVALID_REQUEST");
    EXPECT_NE(client.Register(SharedMemory(100)), "");
    EXPECT_EQ(table_.size(), 2);
  }
  // Who comes later is served later; the segment is still there.
  const RegionClient later(options_.path);
  EXPECT_EQ(ReasonOf(later.Ask(segment.RegisterPacket())), "OK");
  EXPECT_EQ(table_.size(), 1);
}

// Sends `count` descriptors of the same file with a packet.
void SendMany(const UniqueFd& socket, const std::string& bytes, int fd, int count) {
  std::vector<int> descriptors(count, fd);
  std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
  iovec vector = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(header), descriptors.data(), count * sizeof(int));
  ASSERT_EQ(sendmsg(socket.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

TEST_F(RegionSocketTest, SurplusDescriptorsAreRefusedAndClosed) {
  Start();
  const RegionClient client(options_.path);
  const UniqueFd fd = MakeMemfd(100);
  Greet(client);
  const int before = OpenDescriptors();
  for (const int count : {2, 3, 253}) {
    SendMany(client.socket(), RegisterPacket(100), fd.get(), count);
    EXPECT_EQ(ReasonOf(client.Receive()), "INVALID_REQUEST") << count;
  }
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(table_.size(), 0);
}

TEST_F(RegionSocketTest, NobodyWaitsForDescriptorsThatAreClosedSlowly) {
  options_.max_connections = 2;
  Start();
  const int before = OpenDescriptors();
  {
    LingeringSocket sent;
    LingeringSocket empty;
    LingeringSocket unread;
    LingeringSocket refused;
    {
      const RegionClient client(options_.path);
      ASSERT_TRUE(sent.Leave(client.socket(), "x"));
      EXPECT_EQ(ReasonOf(client.Receive()), "INVALID_REQUEST");
      // The first ends the connection, and the second is not received any more.
      ASSERT_TRUE(empty.Leave(client.socket(), ""));
      unread.Leave(client.socket(), "x");
      EXPECT_TRUE(absl::IsOutOfRange(ReceivePacket(client.socket()).status()));
    }
    const RegionClient first(options_.path);
    const RegionClient second(options_.path);
    Greet(first);
    Greet(second);
    const RegionClient third(options_.path);
    refused.Leave(third.socket(), "x");
    Greet(first);
    first.Register(SharedMemory(1000));
  }
  // All are closed in the end.
  while (OpenDescriptors() > before) std::this_thread::yield();
}

// While it lives, this process gets no more descriptors.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    // All numbers below the first free one are taken.
    none.rlim_cur = static_cast<rlim_t>(UniqueFd(dup(STDERR_FILENO)).get());
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_ = {};
};

TEST_F(RegionSocketTest, TellsThatThereIsNoDescriptorLeft) {
  Start();
  const RegionClient client(options_.path);
  const UniqueFd fd = MakeMemfd(100);
  Greet(client);
  {
    const NoDescriptors none;
    const v1::RegionResponse answer = client.Ask(RegisterPacket(100), fd.get());
    EXPECT_EQ(ReasonOf(answer), "REGION_QUOTA");
    EXPECT_THAT(answer.error(), ::testing::HasSubstr("no descriptor left"));
  }
  EXPECT_EQ(ReasonOf(client.Ask(RegisterPacket(100), fd.get())), "OK");
}

TEST_F(RegionSocketTest, AnEndedConnectionTakesItsRegionsAlong) {
  Start();
  const RegionClient other(options_.path);
  Greet(other);
  const int before = OpenDescriptors();
  {
    const RegionClient client(options_.path);
    for (int i = 0; i < 3; ++i) client.Register(SharedMemory(1000));
    EXPECT_EQ(table_.size(), 3);
  }
  // Whoever comes later is served later.
  const RegionClient later(options_.path);
  const std::string id = later.Register(SharedMemory(1000));
  EXPECT_EQ(table_.size(), 1);
  EXPECT_NE(table_.Find(id, kLocalCaller), nullptr);
  EXPECT_EQ(OpenDescriptors(), before + 2);
}

TEST_F(RegionSocketTest, AKilledProcessLeavesNothing) {
  Start();
  const UniqueFd fd = MakeMemfd(1000);
  const std::string packet = RegisterPacket(1000);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto socket = ConnectForPackets(options_.path);
    char answer[256];
    const bool is_good = socket.ok() && SendPacket(*socket, packet, fd.get()).ok() &&
                         recv(socket->get(), answer, sizeof(answer), 0) > 0 &&
                         write(ends[1], "+", 1) == 1;
    if (!is_good) _exit(1);
    while (true) pause();
  }
  const UniqueFd reader(ends[0]);
  close(ends[1]);
  char sign = 0;
  ASSERT_EQ(read(reader.get(), &sign, 1), 1);
  EXPECT_EQ(table_.size(), 1);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const RegionClient later(options_.path);
  Greet(later);
  EXPECT_EQ(table_.size(), 0);
}

TEST_F(RegionSocketTest, WhoDoesNotReadAnswersIsCutOff) {
  Start();
  const RegionClient deaf(options_.path);
  deaf.Register(SharedMemory(1000));
  // Blocks while the server is behind, and fails once it has hung up.
  const std::string packet = UnregisterPacket(std::string(1000, 'x'));
  while (send(deaf.socket().get(), packet.data(), packet.size(), MSG_NOSIGNAL) >= 0) {
  }
  EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << errno;
  const RegionClient other(options_.path);
  Greet(other);
  EXPECT_EQ(table_.size(), 0);
}

TEST_F(RegionSocketTest, AnEmptyPacketEndsTheConnection) {
  Start();
  const RegionClient client(options_.path);
  const UniqueFd fd = MakeMemfd(100);
  Greet(client);
  const int before = OpenDescriptors();
  ASSERT_TRUE(SendPacket(client.socket(), "", fd.get()).ok());
  EXPECT_TRUE(absl::IsOutOfRange(ReceivePacket(client.socket()).status()));
  const RegionClient other(options_.path);
  other.Register(SharedMemory(100));
  // The two ends of the new connection in place of one end of the old.
  EXPECT_EQ(OpenDescriptors(), before + 1);
}

TEST_F(RegionSocketTest, BoundsConnections) {
  options_.max_connections = 2;
  Start();
  const RegionClient first(options_.path);
  {
    const RegionClient second(options_.path);
    second.Register(SharedMemory(10));
    const RegionClient third(options_.path);
    EXPECT_EQ(ReasonOf(third.Receive()), "REGION_QUOTA");
    EXPECT_TRUE(absl::IsOutOfRange(ReceivePacket(third.socket()).status()));
  }
  first.Register(SharedMemory(10));
  const RegionClient fourth(options_.path);
  Greet(fourth);
}

TEST_F(RegionSocketTest, BoundsConnectionsOfAUser) {
  options_.max_connections_per_user = 1;
  Start();
  const RegionClient first(options_.path);
  Greet(first);
  const RegionClient second(options_.path);
  const v1::RegionResponse refusal = second.Receive();
  EXPECT_EQ(ReasonOf(refusal), "REGION_QUOTA");
  EXPECT_THAT(refusal.error(), ::testing::HasSubstr("of this user"));
}

TEST_F(RegionSocketTest, AUserMayHaveLimitsOfItsOwn) {
  options_.limit = [](RegionOwner& owner) { owner.max_regions_of_user = 1; };
  Start();
  const RegionClient first(options_.path);
  first.Register(SharedMemory(10));
  const RegionClient second(options_.path);
  const UniqueFd fd = MakeMemfd(10);
  EXPECT_EQ(ReasonOf(second.Ask(RegisterPacket(10), fd.get())), "REGION_QUOTA");
}

// Connects as another user, and registers memory. Exits with 0 where that is answered with an id.
[[noreturn]] void RegisterAs(uid_t user, const std::string& path, const std::string& packet,
                             int fd) {
  if (setresuid(user, user, user) != 0) _exit(2);
  const auto socket = ConnectForPackets(path);
  if (!socket.ok() || !SendPacket(*socket, packet, fd).ok()) _exit(1);
  const auto answer = ReceivePacket(*socket);
  v1::RegionResponse response;
  const bool is_good = answer.ok() && response.ParseFromString(answer->bytes);
  _exit(is_good && !response.region().empty() ? 0 : 1);
}

TEST_F(RegionSocketTest, AUserWithAllItsConnectionsShutsNobodyElseOut) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  options_.mode = 0666;
  options_.max_connections_per_user = 2;
  options_.max_connections = 3;
  std::filesystem::permissions(
      folder_, std::filesystem::perms::group_exec | std::filesystem::perms::others_exec,
      std::filesystem::perm_options::add);
  Start();
  const RegionClient first(options_.path);
  const RegionClient second(options_.path);
  Greet(first);
  Greet(second);
  const RegionClient third(options_.path);
  EXPECT_EQ(ReasonOf(third.Receive()), "REGION_QUOTA");
  const UniqueFd fd = MakeMemfd(1000);
  const std::string packet = RegisterPacket(1000);
  const pid_t child = fork();
  if (child == 0) RegisterAs(65534, options_.path, packet, fd.get());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RegionSocketTest, EndsConnectionsThatHaveNoRegionsForLong) {
  options_.max_connections = 2;
  Start();
  const RegionClient idle(options_.path);
  const RegionClient holder(options_.path);
  Greet(idle);
  const std::string id = holder.Register(SharedMemory(10));
  clock_.Advance(options_.idle_limit);
  // Wakes the server, which has time of its own here.
  const RegionClient next(options_.path);
  EXPECT_TRUE(absl::IsOutOfRange(ReceivePacket(idle.socket()).status()));
  Greet(next);
  EXPECT_EQ(holder.Ask(UnregisterPacket(id)).region(), id);
  // It has the same time again from there on.
  clock_.Advance(options_.idle_limit - std::chrono::milliseconds(1));
  Greet(holder);
}

TEST_F(RegionSocketTest, EndsConnectionsThatOnlySendWhatIsRefused) {
  Start();
  const RegionClient client(options_.path);
  Greet(client);
  clock_.Advance(options_.idle_limit - std::chrono::milliseconds(1));
  EXPECT_EQ(ReasonOf(client.Ask("x")), "INVALID_REQUEST");
  clock_.Advance(std::chrono::milliseconds(1));
  const RegionClient next(options_.path);
  EXPECT_TRUE(absl::IsOutOfRange(ReceivePacket(client.socket()).status()));
}

TEST_F(RegionSocketTest, TheFileHasTheGivenPermissions) {
  for (const mode_t mode : {0600, 0660, 0666}) {
    options_.mode = mode;
    Start();
    struct stat status = {};
    ASSERT_EQ(stat(options_.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, mode);
    socket_.reset();
    EXPECT_NE(stat(options_.path.c_str(), &status), 0);
  }
}

TEST_F(RegionSocketTest, TakesThePlaceOfADeadServer) {
  {
    const auto dead = ListenForPackets(options_.path, 0600);
    ASSERT_TRUE(dead.ok());
  }
  ASSERT_TRUE(std::filesystem::exists(options_.path));
  Start();
  Greet(RegionClient(options_.path));
}

TEST_F(RegionSocketTest, LeavesTheFileOfItsSuccessor) {
  Start();
  std::filesystem::rename(options_.path, folder_ + "/away");
  const auto successor = ListenForPackets(options_.path, 0600);
  ASSERT_TRUE(successor.ok());
  socket_.reset();
  EXPECT_TRUE(std::filesystem::exists(options_.path));
}

TEST_F(RegionSocketTest, LeavesOthersAlone) {
  Start();
  EXPECT_EQ(RegionSocket::Start(options_, table_).status().code(),
            absl::StatusCode::kAlreadyExists);
  RegionSocketOptions on_file = options_;
  on_file.path = folder_ + "/file";
  std::ofstream(on_file.path) << "text";
  EXPECT_EQ(RegionSocket::Start(on_file, table_).status().code(), absl::StatusCode::kAlreadyExists);
  Greet(RegionClient(options_.path));
}

TEST_F(RegionSocketTest, LeavesSocketsOfOtherTypesAlone) {
  const UniqueFd stream(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, options_.path.data(), options_.path.size());
  ASSERT_EQ(bind(stream.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(stream.get(), 1), 0);
  EXPECT_EQ(RegionSocket::Start(options_, table_).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(RegionSocketTest, RefusesPathsThatAreTooLong) {
  options_.path = folder_ + "/" + std::string(200, 'x');
  EXPECT_EQ(RegionSocket::Start(options_, table_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RegionSocketTest, StoppingEndsConnectionsAndRegions) {
  Start();
  const RegionClient client(options_.path);
  const std::string id = client.Register(SharedMemory(10));
  socket_.reset();
  EXPECT_EQ(table_.Find(id, kLocalCaller), nullptr);
  EXPECT_TRUE(absl::IsOutOfRange(ReceivePacket(client.socket()).status()));
}

}  // namespace
}  // namespace opserve::testing
