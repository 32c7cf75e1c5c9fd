// Inputs belong to the caller again when a call is over, also where the peer does not read: they
// are freed at once, which AddressSanitizer would tell of.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/errors.h"
#include "opserve/stream.h"
#include "proto/base/mutex.h"

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
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, Generic(address_), sizeof(address_)), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    address_ = NameOf(listener_);
    target_ = "127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
    thread_ = std::thread([this] { Accept(); });
  }
  ~StuckServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    for (const Connection& connection : connections_) close(connection.descriptor);
    for (const int connection : own_) close(connection);
  }
  StuckServer(const StuckServer&) = delete;
  StuckServer& operator=(const StuckServer&) = delete;

  const std::string& target() const { return target_; }

  // Connections that clients have made so far.
  int CountConnections() const {
    // Connections are accepted in the order in which they were made.
    const int last = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = address_;
    EXPECT_EQ(connect(last, Generic(address), sizeof(address)), 0);
    const in_port_t port = NameOf(last).sin_port;
    MutexLock lock(mutex_);
    while (true) {
      const auto found = std::find_if(
          connections_.begin(), connections_.end(),
          [port](const Connection& connection) { return connection.client_port == port; });
      if (found == connections_.end()) {
        changed_.Wait(mutex_);
        continue;
      }
      const auto before = static_cast<size_t>(found - connections_.begin()) - own_.size();
      own_.push_back(last);
      return static_cast<int>(before);
    }
  }
  // Connections to which part of a call was sent.
  int CountUsed() const {
    // What a client says before its first call is less.
    constexpr int kOpening = 4096;
    MutexLock lock(mutex_);
    return static_cast<int>(
        std::count_if(connections_.begin(), connections_.end(), [](const Connection& connection) {
          int unread = 0;
          EXPECT_EQ(ioctl(connection.descriptor, FIONREAD, &unread), 0);
          return unread > kOpening;
        }));
  }

 private:
  struct Connection {
    int descriptor;
    in_port_t client_port;
  };

  static sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
  static sockaddr_in NameOf(int descriptor) {
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(descriptor, Generic(address), &size), 0);
    return address;
  }

  void Accept() {
    // SETTINGS with INITIAL_WINDOW_SIZE 2^31-1, and WINDOW_UPDATE of the connection to the same.
    constexpr unsigned char kHttp2[] = {
        0, 0, 6, 4, 0, 0, 0, 0, 0, 0,    4,    0x7f, 0xff, 0xff, 0xff,  //
        0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0,    0,
    };
    while (true) {
      sockaddr_in client = {};
      socklen_t size = sizeof(client);
      const int connection = accept(listener_, Generic(client), &size);
      if (connection < 0) return;
      {
        MutexLock lock(mutex_);
        connections_.push_back({connection, client.sin_port});
        changed_.NotifyAll();
      }
      if (greeting_ == Greeting::kHttp2) {
        EXPECT_EQ(send(connection, kHttp2, sizeof(kHttp2), MSG_NOSIGNAL),
                  static_cast<ssize_t>(sizeof(kHttp2)));
      }
    }
  }

  const Greeting greeting_;
  int listener_ = -1;
  sockaddr_in address_ = {};
  std::string target_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::vector<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  // Those that CountConnections made. Open, so that no other one gets the port of one of them.
  mutable std::vector<int> own_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

constexpr uint32_t kBytes = 64u << 20;

// For streams: an offer is short, and would move.
constexpr uint64_t kNothingIsOffered = UINT64_MAX;
// Long enough for a busy machine to connect and to fill the socket.
constexpr absl::Duration kTimeout = absl::Milliseconds(700);
// Far more than any call here may take beyond its deadline, and less than what nobody ends.
constexpr absl::Duration kLimit = absl::Seconds(19);

// What all clients here have: they are about what is sent.
ClientOptions Options() {
  ClientOptions options;
  options.max_shared_bytes = 0;
  return options;
}

std::unique_ptr<Client> Connect(const std::string& target) {
  ClientOptions options = Options();
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

// How a call ended. One that does not end in this time fails the test.
absl::Status EndOf(std::future<absl::Status>& call, absl::Duration limit) {
  if (call.wait_for(absl::ToChronoNanoseconds(limit)) == std::future_status::ready) {
    return call.get();
  }
  ADD_FAILURE() << "the call does not end";
  return absl::UnknownError("the call does not end");
}

bool IsReady(const std::future<absl::Status>& call, absl::Duration limit) {
  return call.wait_for(absl::ToChronoNanoseconds(limit)) == std::future_status::ready;
}

// Makes calls, which get more and more time, until one was sent to a connection: on a busy machine
// the time of a call may be over before there is one. That must be the `count`th that was used:
// each call needs one of its own. `call` makes a call of this timeout, and returns how it ended.
template <class TimedCall>
void ExpectNewConnection(const StuckServer& server, int count, const TimedCall& call) {
  for (absl::Duration timeout = kTimeout; server.CountUsed() < count; timeout *= 2) {
    ASSERT_LT(timeout, kLimit) << "the connection was not given up";
    const absl::Time start = absl::Now();
    const absl::Status status = call(timeout);
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    EXPECT_LT(absl::Now() - start, timeout + kLimit);
  }
  EXPECT_EQ(server.CountUsed(), count);
  EXPECT_EQ(server.CountConnections(), count);
}

TEST(ClientMemoryTest, AConnectionThatDoesNotMoveIsGivenUp) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  for (int i = 1; i <= 3; ++i) {
    ExpectNewConnection(server, i,
                        [&](absl::Duration timeout) { return ExecuteAndFree(*client, timeout); });
  }
}

TEST(ClientMemoryTest, AsynchronousCallsGiveItUpToo) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  for (int i = 1; i <= 2; ++i) {
    ExpectNewConnection(server, i, [&](absl::Duration timeout) {
      std::future<absl::Status> call = ExecuteAsyncAndFree(*client, timeout);
      return EndOf(call, timeout + kLimit);
    });
  }
}

TEST(ClientMemoryTest, OtherCallsOnThatConnectionMayBeTriedAgain) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  std::future<absl::Status> patient = ExecuteAsyncAndFree(*client, absl::InfiniteDuration());
  std::future<absl::Status> waiting = std::async(
      std::launch::async, [&] { return ExecuteAndFree(*client, absl::InfiniteDuration()); });
  // One that began only after a connection was given up has a new one, for the next call to give
  // up.
  int calls = 0;
  do {
    ASSERT_LT(calls++, 3) << "the other calls do not end";
    const absl::Time start = absl::Now();
    EXPECT_TRUE(absl::IsDeadlineExceeded(ExecuteAndFree(*client, kTimeout)));
    EXPECT_LT(absl::Now() - start, kTimeout + kLimit);
  } while (!IsReady(patient, kLimit) || !IsReady(waiting, kLimit));
  for (std::future<absl::Status>* other : {&patient, &waiting}) {
    const absl::Status status = other->get();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

// Calls of as many bytes, which are copied before they are sent, as a socket never takes at once.
constexpr int kCopiedCalls = 2000;
const std::vector<uint8_t> kCopied(15'000, 1);

std::vector<Call<Tensor>> StartCopiedCalls(Client& client, absl::Duration timeout) {
  std::vector<Call<Tensor>> calls;
  for (int i = 0; i < kCopiedCalls; ++i) {
    calls.push_back(client.StartExecute(Round(kCopied), {.timeout = timeout}));
  }
  return calls;
}

void ExpectOver(const std::vector<Call<Tensor>>& calls, absl::Duration limit) {
  const absl::Time end = absl::Now() + limit;
  const auto not_over = std::ranges::count_if(
      calls, [end](const Call<Tensor>& call) { return !call.WaitFor(end - absl::Now()); });
  ASSERT_EQ(not_over, 0);
  for (const Call<Tensor>& call : calls) EXPECT_FALSE(call.Wait().ok());
}

TEST(ClientMemoryTest, CallsThatLendNothingGiveItUpToo) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  constexpr absl::Duration kTime = absl::Seconds(1);
  ExpectOver(StartCopiedCalls(*client, kTime), kTime + kLimit);
}

TEST(ClientMemoryTest, AndSoDoThoseThatAreCancelled) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  const std::vector<Call<Tensor>> calls = StartCopiedCalls(*client, absl::InfiniteDuration());
  while (server.CountUsed() == 0) std::this_thread::yield();
  // Where the socket is not full by then, they end as any others do.
  absl::SleepFor(absl::Milliseconds(300));
  for (const Call<Tensor>& call : calls) call.Cancel();
  ExpectOver(calls, kLimit);
}

TEST(ClientMemoryTest, AndSoDoThoseThatSomebodyWaitsFor) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  // Less than what gRPC needs to give up a connection that does not move.
  constexpr absl::Duration kShortLimit = absl::Seconds(15);
  // Until one was sent after the socket was full, and the connection was shut down because of it.
  for (int i = 0; server.CountConnections() < 2; ++i) {
    ASSERT_LT(i, kCopiedCalls) << "the connection was not given up";
    const absl::Time start = absl::Now();
    const absl::Duration time = absl::Milliseconds(i == 0 ? 700 : 20);
    EXPECT_FALSE(client->Execute(Round(kCopied), {.timeout = time}).ok());
    ASSERT_LT(absl::Now() - start, time + kShortLimit);
  }
}

TEST(ClientMemoryTest, WhatIsMoreThanAMessageTakesIsNotSent) {
  constexpr uint32_t kRows = 1u << 16;
  constexpr uint64_t kTooMany = uint64_t{kRows} * (kRows + 1);
  // Nobody reads it.
  void* const memory =
      mmap(nullptr, kTooMany, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  const OperatorCall call = {
      .operator_name = "ELEMENT_WISE_ROUND",
      .inputs = {TensorView::Of<uint8_t>(
          std::span<const uint8_t>(static_cast<const uint8_t*>(memory), kTooMany),
          {kRows, kRows + 1})}};
  for (const absl::Status& status :
       {client->Execute(call, {.timeout = kTimeout}).status(),
        client->StartExecute(call, {.timeout = kTimeout}).Wait().status()}) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(GetErrorReason(status), "REQUEST_TOO_LARGE");
    EXPECT_NE(status.message().find("a message has 4294967295 at most"), std::string::npos)
        << status;
  }
  EXPECT_EQ(server.CountConnections(), 0);
  munmap(memory, kTooMany);
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
    ExpectNewConnection(server, i, [&](absl::Duration timeout) {
      const auto stream = client->OpenStream(
          {.pipelined_from_bytes = kNothingIsOffered, .max_bytes_in_flight = kBytes});
      if (!stream.ok()) return stream.status();
      std::future<absl::Status> stuck = SubmitAndFree(**stream, timeout);
      while (server.CountUsed() < i && !IsReady(stuck, absl::ZeroDuration())) {
        std::this_thread::yield();
      }
      if (server.CountUsed() == i) {
        std::future<absl::Status> patient = SubmitAndFree(**stream, absl::InfiniteDuration());
        EXPECT_TRUE(absl::IsUnavailable(EndOf(patient, timeout + kLimit)));
      }
      return EndOf(stuck, timeout + kLimit);
    });
  }
}

TEST(ClientMemoryTest, TheDeadlineOfAStreamFreesItsMemory) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  const auto client = Connect(server.target());
  const auto stream =
      client->OpenStream({.pipelined_from_bytes = kNothingIsOffered, .timeout = kTimeout});
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::future<absl::Status> status = SubmitAndFree(**stream);
  ASSERT_EQ(status.wait_for(absl::ToChronoSeconds(kLimit)), std::future_status::ready);
  EXPECT_TRUE(absl::IsDeadlineExceeded(status.get()));
}

TEST(ClientMemoryTest, AStreamMayGoWhileItsPeerDoesNotRead) {
  const StuckServer server(StuckServer::Greeting::kHttp2);
  auto client = Connect(server.target());
  auto stream =
      client->OpenStream({.pipelined_from_bytes = kNothingIsOffered, .finish_timeout = kTimeout});
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
  ClientOptions options = Options();
  options.retry.max_attempts = 1;
  int connections = 0;
  for (options.connect_timeout = kTimeout; connections == 0; options.connect_timeout *= 2) {
    ASSERT_LT(options.connect_timeout, kLimit);
    const auto client = Client::Connect(server.target(), options);
    EXPECT_EQ(client.status().code(), absl::StatusCode::kDeadlineExceeded) << client.status();
    connections = server.CountConnections();
  }
  EXPECT_EQ(connections, 1);
}

}  // namespace
}  // namespace opserve
