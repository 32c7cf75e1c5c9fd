// Streams whose client or server is killed half-way: an error or the right result for who is left,
// never a part for the whole, and nothing that stays behind.

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/stream.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/process_entries.h"
#include "tests/integration/server_process.h"
#include "tests/integration/test_server.h"
#include "tests/integration/test_stream.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ------------------------------------------------------------------ Clients that are killed

// `opserve bench` that streams large tensors in a process of its own, until it is killed.
class StreamingClient {
 public:
  StreamingClient(const std::string& address, const std::string& operator_name) {
    std::vector<std::string> words = {OPSERVE_PROGRAM, "bench",    operator_name,  "--address",
                                      address,         "--stream", "--messages",   "--duration",
                                      "300s",          "--shape",  "1x1x1024x2048"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ) != 0) pid_ = -1;
  }
  ~StreamingClient() { Kill(); }
  StreamingClient(const StreamingClient&) = delete;
  StreamingClient& operator=(const StreamingClient&) = delete;

  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
};

class KilledClientTest : public ::testing::TestWithParam<const char*> {};

TEST_P(KilledClientTest, LeavesNothing) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  TestServer server(options, {.cpu = Borrow(device)});
  // What the test's own connection takes is there before.
  ASSERT_TRUE(server.Execute(RoundRequest({0.5f})).status.ok());
  const ProcessEntries before;
  {
    // It gets some results, and waits for more of them.
    const GateCloser closer(device, 3);
    StreamingClient client(server.server().addresses()[0], GetParam());
    ASSERT_TRUE(device.WaitForHeld(1));
    EXPECT_GT(server.server().usage().bytes, 0u);
    EXPECT_GT(ProcessEntries().files, before.files);
    client.Kill();
  }
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
  // gRPC has the socket for as long as a run of its client is at work.
  EXPECT_TRUE(WaitUntil([&] { return ProcessEntries().files <= before.files; }));
  EXPECT_TRUE(server.Execute(RoundRequest({1.5f})).status.ok());
}

// The first is computed in runs, the second put together.
INSTANTIATE_TEST_SUITE_P(Operators, KilledClientTest,
                         ::testing::Values("ELEMENT_WISE_ABS", "ACTIVATION_SOFTMAX"));

// ------------------------------------------------------------------ Servers that are killed

// A server in a process of its own, at an address that another one takes over.
class KilledServerTest : public ::testing::Test {
 protected:
  KilledServerTest() : address_("unix:" + (folder_.path() / "server").string()) { Start(); }

  void Start() {
    std::filesystem::remove(folder_.path() / "ready");
    server_.emplace(std::vector<std::string>{"--listen", address_, "--ready-file",
                                             (folder_.path() / "ready").string()});
    EXPECT_THAT(server_->WaitReady(folder_.path()), ElementsAre(address_)) << server_->Output();
  }
  void Kill() {
    server_->Signal(SIGKILL);
    EXPECT_EQ(server_->WaitExit(), -SIGKILL);
  }

  const TemporaryFolder folder_;
  const std::string address_;
  std::optional<ServerProcess> server_;
};

// The next server knows nothing of what the one before has got of a request.
TEST_F(KilledServerTest, BetweenPiecesLosesTheRequest) {
  const v1::ExecuteRequest request = RoundRequest(Ramp(100'000));
  const auto stub = v1::OperatorService::NewStub(ConnectTo(address_));
  TestStream stream(*stub);
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  ASSERT_TRUE(stream.SendRun(1, request, 0));
  ASSERT_TRUE(stream.ReadMessage());
  ASSERT_TRUE(stream.Announce(2, request));
  ASSERT_TRUE(stream.SendPiece(2, request.payloads(0).substr(0, 200'000)));
  Kill();
  Start();
  stream.SendRun(1, request, 1);
  EXPECT_EQ(stream.ReadEnd().error_code(), grpc::UNAVAILABLE);
  EXPECT_FALSE(stream.answer(1).has_response);
  EXPECT_EQ(stream.answer(1).messages, 1);

  const auto next = v1::OperatorService::NewStub(ConnectTo(address_));
  for (const uint64_t id : {1, 2}) {
    TestStream rest(*next);
    ASSERT_TRUE(rest.SendPiece(id, request.payloads(0).substr(200'000)));
    const grpc::Status status = rest.ReadEnd();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("No payloads of request"));
  }
  TestStream again(*next);
  ASSERT_TRUE(again.Announce(1, request));
  ASSERT_TRUE(again.SendPiece(1, request.payloads(0)));
  EXPECT_EQ(again.ReadAnswer(), 1u);
  EXPECT_TRUE(again.answer(1).payload == Rounded(Ramp(100'000)));
  EXPECT_TRUE(again.Finish().ok());
}

OperatorCall BitNot(const std::vector<uint32_t>& words) {
  return {.operator_name = "ELEMENT_WISE_BIT_NOT",
          .inputs = {TensorView::Of<uint32_t>(words, {static_cast<uint32_t>(words.size())})}};
}

// The same in three steps.
OperatorSequence BitNotThrice(const std::vector<uint32_t>& words) {
  return {.inputs = BitNot(words).inputs,
          .steps = {{.operator_name = "ELEMENT_WISE_BIT_NOT", .inputs = {FromInput(0)}},
                    {.operator_name = "ELEMENT_WISE_BIT_NOT", .inputs = {FromStep(0)}},
                    {.operator_name = "ELEMENT_WISE_BIT_NOT", .inputs = {FromStep(1)}}},
          .outputs = {{.step = 2}, {.step = 0}}};
}

bool IsRight(const Tensor& result, const std::vector<uint32_t>& words) {
  const auto values = *result.Elements<uint32_t>();
  if (values.size() != words.size()) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (values[i] != ~words[i]) return false;
  }
  return true;
}

// Large requests follow each other, so that the kill meets some of them half-way.
TEST_F(KilledServerTest, GivesNoPartForTheWhole) {
  const auto client = Client::Connect(address_);
  ASSERT_TRUE(client.ok()) << client.status();
  auto stream = (*client)->OpenStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::vector<uint32_t> words(size_t{2} << 20);  // 8 MiB, which are computed in runs
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint32_t>(i * 2654435761u);

  std::atomic<int> right = 0;
  std::atomic<int> wrong = 0;
  std::promise<absl::Status> failed[3];
  std::function<void(int)> submit = [&](int chain) {
    const auto go_on = [&, chain](bool is_right) {
      ++(is_right ? right : wrong);
      submit(chain);
    };
    if (chain < 2) {
      (*stream)->Submit(BitNot(words), [&, chain, go_on](const absl::StatusOr<Tensor>& result,
                                                         const ExecutionInfo&) {
        if (!result.ok()) return failed[chain].set_value(result.status());
        go_on(IsRight(*result, words));
      });
      return;
    }
    (*stream)->Submit(BitNotThrice(words),
                      [&, chain, go_on](const absl::StatusOr<std::vector<SequenceResult>>& results,
                                        const ExecutionInfo&) {
                        if (!results.ok()) return failed[chain].set_value(results.status());
                        go_on(results->size() == 2 && IsRight(*results->at(0).tensor, words) &&
                              IsRight(*results->at(1).tensor, words));
                      });
  };
  for (int chain = 0; chain < 3; ++chain) submit(chain);
  ASSERT_TRUE(WaitUntil([&] { return right + wrong > 2; }));
  Kill();
  for (auto& chain : failed) {
    const absl::Status status = chain.get_future().get();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(absl::IsUnavailable((*stream)->Finish()));
  stream->reset();

  // The same client goes on with the next server.
  Start();
  const CallOptions patient = {.retry = RetryPolicy{.max_attempts = 100}};
  const auto unary = (*client)->Execute(BitNot(words), patient);
  ASSERT_TRUE(unary.ok()) << unary.status();
  EXPECT_TRUE(IsRight(*unary, words));
  stream = (*client)->OpenStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  const auto streamed = (*stream)->Start(BitNot(words)).Wait();
  ASSERT_TRUE(streamed.ok()) << streamed.status();
  EXPECT_TRUE(IsRight(*streamed, words));
  EXPECT_TRUE((*stream)->Finish().ok());
}

}  // namespace
}  // namespace opserve::testing
