// The end of a client does not wait for sockets that are gone.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

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

// Takes one connection, opens HTTP/2 with huge windows, so that the client sends until the socket
// is full, and never reads.
class PeerThatNeverReads {
 public:
  PeerThatNeverReads() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    target_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    accepted_ = std::async(std::launch::async, [this] { return Greet(); });
  }
  ~PeerThatNeverReads() {
    // Ends an accept to which nobody came.
    shutdown(listener_, SHUT_RDWR);
    const int connection = accepted_.get();
    if (connection >= 0) close(connection);
    close(listener_);
  }
  PeerThatNeverReads(const PeerThatNeverReads&) = delete;
  PeerThatNeverReads& operator=(const PeerThatNeverReads&) = delete;

  const std::string& target() const { return target_; }

 private:
  int Greet() const {
    // SETTINGS with INITIAL_WINDOW_SIZE 2^31-1, and WINDOW_UPDATE of the connection to the same.
    constexpr unsigned char kHttp2[] = {
        0, 0, 6, 4, 0, 0, 0, 0, 0, 0,    4,    0x7f, 0xff, 0xff, 0xff,  //
        0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0,    0,
    };
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return connection;
    EXPECT_EQ(send(connection, kHttp2, sizeof(kHttp2), MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof(kHttp2)));
    return connection;
  }

  const int listener_;
  std::string target_;
  std::future<int> accepted_;  // the connection
};

// gRPC polls for 10 s at a time for a write that the socket did not take.
constexpr std::chrono::seconds kLimit{8};

TEST(ClientEndTest, WaitsForNoWriteThatIsGivenUp) {
  const std::vector<uint8_t> memory(64u << 20, 1);
  const OperatorCall call = {
      .operator_name = "ELEMENT_WISE_ROUND",
      .inputs = {TensorView::Of<uint8_t>(memory, {static_cast<uint32_t>(memory.size())})}};
  // Which thread polls last is up to chance.
  for (int i = 0; i < 5; ++i) {
    const PeerThatNeverReads peer;
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
    EXPECT_LT(steady_clock::now() - start, kLimit);
  }
}

}  // namespace
}  // namespace opserve
