// The end of a client waits for no socket, and closes all of them.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/stream.h"

namespace opserve {
namespace {

using std::chrono::steady_clock;

// Takes one connection, and does not read unless it is told to.
class SilentPeer {
 public:
  enum class Greeting {
    kNone,
    kHttp2,  // opens HTTP/2 with huge windows, so that calls are sent until the socket is full
  };

  explicit SilentPeer(Greeting greeting)
      : greeting_(greeting), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    target_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    accepted_ = std::async(std::launch::async, [this] { return Accept(); });
  }
  ~SilentPeer() {
    // Ends an accept to which nobody came.
    shutdown(listener_, SHUT_RDWR);
    if (connection() >= 0) close(connection());
    close(listener_);
  }
  SilentPeer(const SilentPeer&) = delete;
  SilentPeer& operator=(const SilentPeer&) = delete;

  const std::string& target() const { return target_; }
  bool has_accepted() const {
    return accepted_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // Reads what comes. Whether the client ends the connection before nothing comes for `limit`.
  bool IsClosedWithin(std::chrono::seconds limit) const {
    const timeval time = {limit.count(), 0};
    EXPECT_EQ(setsockopt(connection(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)), 0);
    char buffer[4096];
    ssize_t got;
    do {
      got = recv(connection(), buffer, sizeof(buffer), 0);
    } while (got > 0);
    return got == 0 || errno == ECONNRESET;
  }

 private:
  int connection() const { return accepted_.get(); }

  int Accept() const {
    // SETTINGS with INITIAL_WINDOW_SIZE 2^31-1, and WINDOW_UPDATE of the connection to the same.
    constexpr unsigned char kHttp2[] = {
        0, 0, 6, 4, 0, 0, 0, 0, 0, 0,    4,    0x7f, 0xff, 0xff, 0xff,  //
        0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0,    0,
    };
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0 || greeting_ == Greeting::kNone) return connection;
    EXPECT_EQ(send(connection, kHttp2, sizeof(kHttp2), MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof(kHttp2)));
    return connection;
  }

  const Greeting greeting_;
  const int listener_;
  std::string target_;
  std::shared_future<int> accepted_;  // the connection
};

// gRPC polls for 10 s at a time for a write that the socket did not take, and lets a peer take 20 s
// to open HTTP/2.
constexpr std::chrono::seconds kPatience{8};

TEST(ClientEndTest, WaitsForNoWriteThatIsGivenUp) {
  const std::vector<uint8_t> memory(64u << 20, 1);
  const OperatorCall call = {
      .operator_name = "ELEMENT_WISE_ROUND",
      .inputs = {TensorView::Of<uint8_t>(memory, {static_cast<uint32_t>(memory.size())})}};
  // Which thread polls last is up to chance.
  for (int i = 0; i < 5; ++i) {
    const SilentPeer peer(SilentPeer::Greeting::kHttp2);
    ClientOptions options;
    options.connect_timeout = absl::ZeroDuration();
    options.retry.max_attempts = 1;
    auto client = Client::Connect(peer.target(), options);
    ASSERT_TRUE(client.ok()) << client.status();
    auto stream = (*client)->OpenStream({.timeout = absl::Milliseconds(700)});
    ASSERT_TRUE(stream.ok()) << stream.status();
    std::promise<absl::Status> ended;
    (*stream)->Submit(call, [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) {
      ended.set_value(output.status());
    });
    EXPECT_TRUE(absl::IsDeadlineExceeded(ended.get_future().get()));
    stream->reset();
    const auto start = steady_clock::now();
    client->reset();
    EXPECT_LT(steady_clock::now() - start, kPatience);
  }
}

TEST(ClientEndTest, ClosesWhatIsNotOpenYet) {
  const SilentPeer peer(SilentPeer::Greeting::kNone);
  ClientOptions options;
  options.connect_timeout = absl::Milliseconds(100);
  options.retry.max_attempts = 1;
  // The client is gone as soon as its time is over, perhaps before it got as far as the peer.
  do {
    EXPECT_TRUE(absl::IsDeadlineExceeded(Client::Connect(peer.target(), options).status()));
  } while (!peer.has_accepted());
  EXPECT_TRUE(peer.IsClosedWithin(kPatience));
}

// gRPC is asked to tell of the connection that the calls lack, and does so at the end.
TEST(ClientEndTest, WaitsForNoConnectionThatDoesNotCome) {
  ClientOptions options;
  options.connect_timeout = absl::ZeroDuration();
  options.retry.max_attempts = 1;
  const std::string no_path(200, 'x');  // longer than a socket's may be: gRPC tries nothing
  for (const std::string& target : {std::string("unix:/nowhere"), "unix:/" + no_path}) {
    const auto unused = Client::Connect(target, options);  // has a share of the poller
    ASSERT_TRUE(unused.ok()) << unused.status();
    auto client = Client::Connect(target, options);
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_FALSE((*client)->GetServerInfo().ok());
    const auto start = steady_clock::now();
    client->reset();
    EXPECT_LT(steady_clock::now() - start, kPatience);
  }
}

}  // namespace
}  // namespace opserve
