// Inputs belong to the caller again when a call is over, also where the peer does not read: they
// are freed at once, which AddressSanitizer would tell of.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/stream.h"

namespace opserve {
namespace {

// Accepts connections and never reads from them.
class StuckServer {
 public:
  enum class Greeting {
    kNone,
    kHttp2,  // opens HTTP/2 with huge windows, so that calls are sent until the socket is full
  };

  explicit StuckServer(Greeting greeting) : greeting_(greeting) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, generic, size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    EXPECT_EQ(getsockname(listener_, generic, &size), 0);
    target_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { Accept(); });
  }
  ~StuckServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    for (const int connection : connections_) close(connection);
  }
  StuckServer(const StuckServer&) = delete;
  StuckServer& operator=(const StuckServer&) = delete;

  const std::string& target() const { return target_; }
  int accepted() const { return accepted_; }

 private:
  void Accept() {
    // SETTINGS with INITIAL_WINDOW_SIZE 2^31-1, and WINDOW_UPDATE of the connection to the same.
    constexpr unsigned char kHttp2[] = {
        0, 0, 6, 4, 0, 0, 0, 0, 0, 0,    4,    0x7f, 0xff, 0xff, 0xff,  //
        0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0,    0,
    };
    while (true) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      connections_.push_back(connection);
      ++accepted_;
      if (greeting_ == Greeting::kHttp2) {
        EXPECT_EQ(send(connection, kHttp2, sizeof(kHttp2), MSG_NOSIGNAL),
                  static_cast<ssize_t>(sizeof(kHttp2)));
      }
    }
  }

  const Greeting greeting_;
  int listener_ = -1;
  std::string target_;
  std::vector<int> connections_;  // of the thread, until it is joined
  std::atomic<int> accepted_ = 0;
  std::thread thread_;
};

constexpr uint32_t kBytes = 64u << 20;
// Long enough for a busy machine to connect and to fill the socket.
constexpr absl::Duration kTimeout = absl::Milliseconds(700);
// Far more than any call here may take beyond its deadline, and less than what nobody ends.
constexpr absl::Duration kLimit = absl::Seconds(19);

std::unique_ptr<Client> Connect(const std::string& target) {
  ClientOptions options;
  options.connect_timeout = absl::ZeroDuration();
  options.retry.max_attempts = 1;
  auto client = Client::Connect(target, options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

OperatorCall Round(const std::vector<uint8_t>& memory) {
  return {.operator_name = "ELEMENT_WISE_ROUND",
          .inputs = {TensorView::Of<uint8_t>(memory, {static_cast<uint32_t>(memory.size())})}};
}

absl::Status ExecuteAndFree(Client& client, absl::Duration timeout) {
  const auto memory = std::make_unique<std::vector<uint8_t>>(kBytes, uint8_t{1});
  return client.Execute(Round(*memory), {.timeout = timeout}).status();
}

std::future<absl::Status> ExecuteAsyncAndFree(Client& client, absl::Duration timeout) {
  auto memory = std::make_unique<std::vector<uint8_t>>(kBytes, uint8_t{1});
  auto promise = std::make_unique<std::promise<absl::Status>>();
  std::future<absl::Status> future = promise->get_future();
  const OperatorCall call = Round(*memory);
  client.ExecuteAsync(call,
                      [memory = std::move(memory), promise = std::move(promise)](
                          const absl::StatusOr<Tensor>& output, const ExecutionInfo&) mutable {
                        memory.reset();
                        promise->set_value(output.status());
                      },
                      {.timeout = timeout});
  return future;
}

// A request of a stream whose inputs are freed as soon as it is over.
std::future<absl::Status> SubmitAndFree(ExecuteStream& stream,
                                        std::optional<absl::Duration> timeout = {}) {
  auto memory = std::make_unique<std::vector<uint8_t>>(kBytes, uint8_t{1});
  std::promise<absl::Status> promise;
  std::future<absl::Status> future = promise.get_future();
  const OperatorCall call = Round(*memory);
  stream.Submit(
      call,
      [memory = std::move(memory), promise = std::move(promise)](
          const absl::StatusOr<Tensor>& output, const ExecutionInfo&) mutable {
        memory.reset();
        promise.set_value(output.status());
      },
      timeout);
  return future;
}

TEST(ClientMemoryTest, AConnectionThatDoesNotMoveIsGivenUp) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  for (int i = 1; i <= 3; ++i) {
    const absl::Time start = absl::Now();
    EXPECT_TRUE(absl::IsDeadlineExceeded(ExecuteAndFree(*client, kTimeout)));
    EXPECT_LT(absl::Now() - start, kLimit);
    EXPECT_EQ(server.accepted(), i) << "each call needs a connection of its own";
  }
}

TEST(ClientMemoryTest, AsynchronousCallsGiveItUpToo) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  for (int i = 1; i <= 2; ++i) {
    std::future<absl::Status> status = ExecuteAsyncAndFree(*client, kTimeout);
    ASSERT_EQ(status.wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
    EXPECT_TRUE(absl::IsDeadlineExceeded(status.get()));
    EXPECT_EQ(server.accepted(), i);
  }
}

TEST(ClientMemoryTest, OtherCallsOnThatConnectionMayBeTriedAgain) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  std::future<absl::Status> patient = ExecuteAsyncAndFree(*client, absl::InfiniteDuration());
  std::future<absl::Status> waiting = std::async(
      std::launch::async, [&] { return ExecuteAndFree(*client, absl::InfiniteDuration()); });
  const absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(ExecuteAndFree(*client, kTimeout)));
  EXPECT_LT(absl::Now() - start, kLimit);
  for (std::future<absl::Status>* other : {&patient, &waiting}) {
    ASSERT_EQ(other->wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
    const absl::Status status = other->get();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

TEST(ClientMemoryTest, NothingIsSentToAPeerThatDoesNotGreet) {
  const StuckServer server(StuckServer::Greeting::kNone);
  const auto client = Connect(server.target());
  const absl::Time start = absl::Now();
  EXPECT_FALSE(ExecuteAndFree(*client, kTimeout).ok());
  std::future<absl::Status> status = ExecuteAsyncAndFree(*client, kTimeout);
  ASSERT_EQ(status.wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
  EXPECT_FALSE(status.get().ok());
  EXPECT_LT(absl::Now() - start, kLimit);
}

TEST(ClientMemoryTest, AStreamThatDoesNotMoveIsGivenUp) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  for (int i = 1; i <= 2; ++i) {
    const auto stream = client->OpenStream({.max_bytes_in_flight = kBytes});
    ASSERT_TRUE(stream.ok()) << stream.status();
    std::future<absl::Status> stuck = SubmitAndFree(**stream, kTimeout);
    std::future<absl::Status> patient = SubmitAndFree(**stream, absl::InfiniteDuration());
    ASSERT_EQ(stuck.wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
    EXPECT_TRUE(absl::IsDeadlineExceeded(stuck.get()));
    ASSERT_EQ(patient.wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
    EXPECT_TRUE(absl::IsUnavailable(patient.get()));
    EXPECT_EQ(server.accepted(), i);
  }
}

TEST(ClientMemoryTest, TheDeadlineOfAStreamFreesItsMemory) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  const auto stream = client->OpenStream({.timeout = kTimeout});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::future<absl::Status> status = SubmitAndFree(**stream);
  ASSERT_EQ(status.wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status.get()));
}

TEST(ClientMemoryTest, AStreamMayGoWhileItsPeerDoesNotRead) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  auto client = Connect(server.target());
  auto stream = client->OpenStream({.finish_timeout = kTimeout});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::future<absl::Status> status = SubmitAndFree(**stream);
  const absl::Time start = absl::Now();
  stream->reset();
  client.reset();
  EXPECT_LT(absl::Now() - start, kLimit);
  ASSERT_EQ(status.wait_for(absl::ToChronoSeconds(absl::ZeroDuration())),
            std::future_status::ready);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status.get()));
}

TEST(ClientMemoryTest, TheClientMayGoRightAfterTheLastAnswer) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  auto client = Connect(server.target());
  std::vector<std::future<absl::Status>> calls;
  for (int i = 0; i < 3; ++i) calls.push_back(ExecuteAsyncAndFree(*client, kTimeout));
  client.reset();
  for (auto& call : calls) {
    EXPECT_EQ(call.wait_for(absl::ToChronoSeconds(absl::ZeroDuration())),
              std::future_status::ready);
  }
}

// Busy machines and far networks take their time to open HTTP/2: that alone ends no attempt.
TEST(SlowConnectionTest, AnAttemptToConnectHasTheWholeTime) {
  StuckServer server(StuckServer::Greeting::kNone);
  ClientOptions options;
  options.connect_timeout = absl::Milliseconds(700);
  options.retry.max_attempts = 1;
  const auto client = Client::Connect(server.target(), options);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kDeadlineExceeded) << client.status();
  EXPECT_EQ(server.accepted(), 1);
}

}  // namespace
}  // namespace opserve
