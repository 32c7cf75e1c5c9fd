// ExecuteStream of the client library against a real server: answers, pieces, cancellation,
// deadlines, and what breaks a stream.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/stream.h"
#include "server/service/server.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/server_process.h"

namespace opserve {
namespace {

using testing::GateCloser;
using testing::GatedDevice;
using ::testing::HasSubstr;

using Result = std::future<absl::StatusOr<Tensor>>;

std::unique_ptr<Client> Connect(const std::string& address, const ClientOptions& options = {}) {
  auto client = Client::Connect(address, options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

std::unique_ptr<ExecuteStream> Open(Client& client, const StreamOptions& options = {}) {
  auto stream = client.OpenStream(options);
  EXPECT_TRUE(stream.ok()) << stream.status();
  return *std::move(stream);
}

// Rounds to even; `values` must outlive the call.
OperatorCall Round(const std::vector<float>& values) {
  return {.operator_name = "ELEMENT_WISE_ROUND",
          .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
          .inputs = {TensorView::Of<float>(values, {static_cast<uint32_t>(values.size())})}};
}

std::vector<float> Ramp(size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  for (float& value : values) value = std::fmod(value, 4096.0f) / 4 - 100;
  return values;
}

void ExpectRounded(const absl::StatusOr<Tensor>& output, const std::vector<float>& values) {
  ASSERT_TRUE(output.ok()) << output.status();
  const auto rounded = *output->Elements<float>();
  ASSERT_EQ(rounded.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(rounded[i], std::nearbyint(values[i])) << "element " << i;
  }
}

// A server on a free port that runs on a gated device, and a client of it.
class ClientStreamTest : public ::testing::Test {
 protected:
  void Start(ServerOptions options = {}, const ServerEnvironment& environment = {}) {
    options.listen = {"127.0.0.1:0"};
    auto server = Server::Start(options, environment);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = Connect(server_->addresses()[0]);
  }

  void StartGated() {
    ServerOptions options;
    options.workers = 1;
    Start(options, {.cpu = testing::Borrow(device_)});
  }

  // Submits a call and waits until it stands at the gate.
  Result SubmitAndHold(ExecuteStream& stream, const std::vector<float>& values) {
    Result result = stream.SubmitFuture(Round(values));
    EXPECT_TRUE(device_.WaitForHeld(1));
    return result;
  }

  // Waits until the server holds exactly `count` requests.
  void WaitForRequests(uint64_t count) {
    while (server_->usage().requests != count) std::this_thread::yield();
  }

  GatedDevice device_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ClientStreamTest, HundredsOfCallsOfSeveralThreads) {
  Start();
  const auto stream = Open(*client_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&stream, t] {
      std::vector<std::vector<float>> inputs;
      for (int i = 0; i < 100; ++i) {
        // Copied, lent and in pieces.
        const size_t count = i % 20 == 0 ? 300'000 : i % 5 == 0 ? 10'000 : 1 + i;
        inputs.push_back(Ramp(count, static_cast<float>(1000 * t + i)));
      }
      std::vector<Result> results;
      results.reserve(inputs.size());
      for (const auto& input : inputs) results.push_back(stream->SubmitFuture(Round(input)));
      for (size_t i = 0; i < inputs.size(); ++i) ExpectRounded(results[i].get(), inputs[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ClientStreamTest, TensorsLargerThanAMessage) {
  ServerOptions options;
  options.max_message_bytes = 4 << 20;
  Start(options);
  const auto stream = Open(*client_);
  const std::vector<float> large = Ramp(size_t{17} << 20);  // 68 MiB
  EXPECT_FALSE(client_->Execute(Round(large), {.retry = RetryPolicy{.max_attempts = 1}}).ok());
  const std::vector<float> small = Ramp(10);
  Result first = stream->SubmitFuture(Round(large));
  Result second = stream->SubmitFuture(Round(small));
  ExpectRounded(second.get(), small);
  const absl::StatusOr<Tensor> output = first.get();
  ExpectRounded(output, large);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(output->bytes().data()) % 64, 0u);
}

TEST_F(ClientStreamTest, TensorsLargerThanTheServersLimitsAreComputedWhileTheyAreSent) {
  ServerOptions options;
  options.validation.max_tensor_bytes = 1 << 20;
  options.max_stream_bytes = 16 << 20;
  Start(options);
  StreamOptions streams;
  streams.max_bytes_in_flight = 1 << 20;  // less than any of them
  const auto stream = Open(*client_, streams);
  const size_t count = (size_t{5} << 20) + 77;
  const std::vector<float> a = Ramp(count);
  const std::vector<float> b = Ramp(count, 9000);
  std::vector<uint8_t> condition(count);
  for (size_t i = 0; i < count; ++i) condition[i] = static_cast<uint8_t>(i % 7 % 2);
  const std::vector<uint32_t> sizes = {static_cast<uint32_t>(count)};
  const OperatorCall call = {
      .operator_name = "ELEMENT_WISE_IF",
      .inputs = {TensorView::Of<uint8_t>(condition, sizes), TensorView::Of<float>(a, sizes),
                 TensorView::Of<float>(b, sizes)}};
  Result rounded = stream->SubmitFuture(Round(a));
  Result chosen = stream->SubmitFuture(call);
  ExpectRounded(rounded.get(), a);
  const absl::StatusOr<Tensor> output = chosen.get();
  ASSERT_TRUE(output.ok()) << output.status();
  const auto values = *output->Elements<float>();
  ASSERT_EQ(values.size(), count);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], condition[i] != 0 ? a[i] : b[i]) << i;
  EXPECT_TRUE(stream->Finish().ok());
  WaitForRequests(0);
}

// The row has several messages, and the limit on tensors shows that they are not put together.
TEST_F(ClientStreamTest, WhatIsRepeatedIsSentAheadOfLargeTensors) {
  ServerOptions options;
  options.validation.max_tensor_bytes = 2 << 20;
  Start(options);
  const auto stream = Open(*client_);
  constexpr uint32_t kRows = 12;
  constexpr uint32_t kColumns = 300'000;
  const std::vector<float> matrix = Ramp(size_t{kRows} * kColumns);
  const std::vector<float> row = Ramp(kColumns, 77);
  const OperatorCall call = {.operator_name = "ELEMENT_WISE_SUBTRACT",
                             .inputs = {TensorView::Of<float>(row, {kRows, kColumns}, {0, 1}),
                                        TensorView::Of<float>(matrix, {kRows, kColumns})}};
  const absl::StatusOr<Tensor> output = stream->SubmitFuture(call).get();
  ASSERT_TRUE(output.ok()) << output.status();
  const auto values = *output->Elements<float>();
  ASSERT_EQ(values.size(), matrix.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], row[i % kColumns] - matrix[i]) << "element " << i;
  }
  EXPECT_TRUE(stream->Finish().ok());
  WaitForRequests(0);
}

// A row is added to what x is without its sign, which is wanted, too, and the sum is rounded.
TEST_F(ClientStreamTest, SequencesAreComputedWhileTheirInputsAreSent) {
  ServerOptions options;
  options.validation.max_tensor_bytes = 2 << 20;
  Start(options);
  const auto stream = Open(*client_);
  constexpr uint32_t kRows = 1200;
  constexpr uint32_t kColumns = 3000;
  const std::vector<float> matrix = Ramp(size_t{kRows} * kColumns);
  const std::vector<float> row = Ramp(kColumns, 77);
  const OperatorSequence sequence = {
      .inputs = {TensorView::Of<float>(matrix, {kRows, kColumns}),
                 TensorView::Of<float>(row, {kColumns})},
      .steps = {{.operator_name = "ELEMENT_WISE_ABS", .inputs = {FromInput(0)}},
                {.operator_name = "ELEMENT_WISE_ADD",
                 .inputs = {FromStep(0), FromInput(1, TensorSpec{{}, {kRows, kColumns}, {0, 1}})}},
                {.operator_name = "ELEMENT_WISE_ROUND",
                 .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
                 .inputs = {FromStep(1)}}},
      .outputs = {{.step = 2}, {.step = 0}}};
  EXPECT_FALSE(client_->ExecuteSequence(sequence).ok()) << "it is beyond the limits";
  const auto call = stream->Start(sequence);
  const std::vector<float> few = Ramp(10);
  const OperatorSequence small = {
      .inputs = {TensorView::Of<float>(few, {10})},
      .steps = {{.operator_name = "ELEMENT_WISE_ABS", .inputs = {FromInput(0)}}}};
  ASSERT_TRUE(stream->Start(small).Wait().ok());
  const absl::StatusOr<std::vector<SequenceResult>> outputs = call.Wait();
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 2u);
  for (const SequenceResult& output : *outputs) {
    EXPECT_EQ(output.spec.sizes, (std::vector<uint32_t>{kRows, kColumns}));
  }
  const auto rounded = *outputs->front().tensor->Elements<float>();
  const auto absolute = *outputs->back().tensor->Elements<float>();
  ASSERT_EQ(rounded.size(), matrix.size());
  ASSERT_EQ(absolute.size(), matrix.size());
  for (size_t i = 0; i < matrix.size(); ++i) {
    ASSERT_EQ(absolute[i], std::fabs(matrix[i])) << i;
    ASSERT_EQ(rounded[i], std::nearbyint(absolute[i] + row[i % kColumns])) << i;
  }
  EXPECT_TRUE(stream->Finish().ok());
  WaitForRequests(0);
}

TEST_F(ClientStreamTest, WhatIsNotComputedWhileItIsSentIsPutTogether) {
  Start();
  StreamOptions streams;
  streams.pipelined_from_bytes = 0;
  const auto stream = Open(*client_, streams);
  const std::vector<float> values = Ramp(size_t{1} << 20);
  const OperatorCall call = {.operator_name = "ACTIVATION_SOFTMAX",
                             .inputs = {TensorView::Of<float>(values, {1, 1, 1024, 1024})}};
  const absl::StatusOr<Tensor> streamed = stream->SubmitFuture(call).get();
  ASSERT_TRUE(streamed.ok()) << streamed.status();
  const absl::StatusOr<Tensor> whole = client_->Execute(call);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(std::ranges::equal(streamed->bytes(), whole->bytes()));
  EXPECT_TRUE(stream->Finish().ok());
}

// Before any result has come, and after some of them have.
TEST_F(ClientStreamTest, ARequestThatIsComputedWhileItIsSentCanBeCancelled) {
  StartGated();
  StreamOptions streams;
  streams.pipelined_from_bytes = 0;
  const auto stream = Open(*client_, streams);
  const std::vector<float> values = Ramp(size_t{16} << 20);
  for (const int runs : {0, 5}) {
    std::promise<absl::Status> cancelled;
    auto closer = std::make_unique<GateCloser>(device_, runs);
    const uint64_t id = stream->Submit(
        Round(values), [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) {
          cancelled.set_value(output.status());
        });
    EXPECT_TRUE(device_.WaitForHeld(1));
    stream->Cancel(id);
    EXPECT_TRUE(absl::IsCancelled(cancelled.get_future().get()));
    closer.reset();
    WaitForRequests(0);
    EXPECT_EQ(server_->usage().bytes, 0u);
  }
  ExpectRounded(stream->SubmitFuture(Round(values)).get(), values);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ClientStreamTest, AResultMayOutliveItsClient) {
  Start();
  const std::vector<float> values = Ramp(300'000);
  auto stream = Open(*client_);
  const absl::StatusOr<Tensor> output = stream->SubmitFuture(Round(values)).get();
  stream.reset();
  client_.reset();
  ExpectRounded(output, values);
}

TEST_F(ClientStreamTest, ErrorsAreThoseOfExecute) {
  Start();
  const auto stream = Open(*client_);
  const std::vector<float> values = Ramp(300'000);
  OperatorCall wrong = Round(values);
  wrong.attributes = {{"RoundingMode", "UP"}, {"Digits", int64_t{2}}};
  const absl::Status status = stream->SubmitFuture(wrong).get().status();
  EXPECT_EQ(status, client_->Execute(wrong).status());
  EXPECT_EQ(GetErrorReason(status), "INVALID_REQUEST");
  EXPECT_EQ(GetViolations(status).size(), 2u);
  ExpectRounded(stream->SubmitFuture(Round(values)).get(), values);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ClientStreamTest, ARequestBeyondTheServersBudgetIsRefusedAlone) {
  ServerOptions options;
  options.max_stream_bytes = 1 << 20;
  Start(options);
  const auto stream = Open(*client_);
  const std::vector<float> large = Ramp(1'000'000);
  const std::vector<float> small = Ramp(1000);
  const absl::Status status = stream->SubmitFuture(Round(large)).get().status();
  EXPECT_EQ(GetErrorReason(status), "REQUEST_EXCEEDS_BUDGET");
  EXPECT_THAT(std::string(status.message()), HasSubstr("1048576"));
  ExpectRounded(stream->SubmitFuture(Round(small)).get(), small);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ClientStreamTest, CancellingARequestLeavesTheOthersAlone) {
  StartGated();
  const auto stream = Open(*client_);
  const std::vector<float> values = Ramp(100'000);
  Result running;
  {
    const GateCloser closer(device_);
    running = SubmitAndHold(*stream, values);
    std::promise<absl::Status> cancelled;
    const uint64_t id = stream->Submit(
        Round(values), [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) {
          cancelled.set_value(output.status());
        });
    WaitForRequests(2);
    stream->Cancel(id);
    EXPECT_TRUE(absl::IsCancelled(cancelled.get_future().get()));
    WaitForRequests(1);
  }
  ExpectRounded(running.get(), values);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(device_.runs(), 1);
}

TEST_F(ClientStreamTest, HandlesCancelRequestsAndCallsOfTheirOwn) {
  StartGated();
  const auto stream = Open(*client_);
  const std::vector<float> values = Ramp(100'000);
  Result running;
  {
    const GateCloser closer(device_);
    running = SubmitAndHold(*stream, values);
    const Call<Tensor> request = stream->Start(Round(values));
    const Call<Tensor> call = client_->StartExecute(Round(values));
    WaitForRequests(3);
    EXPECT_FALSE(request.WaitFor(absl::ZeroDuration()));
    request.Cancel();
    EXPECT_TRUE(absl::IsCancelled(request.Wait().status()));
    call.Cancel();
    EXPECT_TRUE(absl::IsCancelled(call.Wait().status()));
    WaitForRequests(1);
  }
  ExpectRounded(running.get(), values);
  ExpectRounded(stream->Start(Round(values)).Wait(), values);
  ExpectRounded(client_->StartExecute(Round(values)).Wait(), values);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(device_.runs(), 3);
}

TEST_F(ClientStreamTest, ARequestWhoseTimeIsUpLeavesTheOthersAlone) {
  StartGated();
  const auto stream = Open(*client_);
  const std::vector<float> values = Ramp(100'000);
  Result running;
  {
    const GateCloser closer(device_);
    running = SubmitAndHold(*stream, values);
    Result late = stream->SubmitFuture(Round(values), absl::Milliseconds(50));
    EXPECT_TRUE(absl::IsDeadlineExceeded(late.get().status()));
  }
  ExpectRounded(running.get(), values);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ClientStreamTest, TheDeadlineOfTheStreamIsThatOfItsRequests) {
  StartGated();
  const auto stream = Open(*client_, {.timeout = absl::Milliseconds(300)});
  const std::vector<float> values = Ramp(100'000);
  const GateCloser closer(device_);
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream->SubmitFuture(Round(values)).get().status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream->SubmitFuture(Round(values)).get().status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream->Finish()));
}

TEST_F(ClientStreamTest, TheDestructorGivesUpWhatTakesTooLong) {
  StartGated();
  const std::vector<float> values = Ramp(100'000);
  const GateCloser closer(device_);
  auto stream = Open(*client_, {.finish_timeout = absl::Milliseconds(50)});
  Result result = SubmitAndHold(*stream, values);
  stream.reset();
  ASSERT_EQ(result.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.get().status()));
}

TEST_F(ClientStreamTest, CallbacksKeepTheStreamBusy) {
  Start();
  const auto stream = Open(*client_);
  const std::vector<float> values = Ramp(1000);
  std::atomic<int> left = 500;
  std::promise<void> finished;
  std::function<void()> next = [&] {
    stream->Submit(Round(values), [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) {
      EXPECT_TRUE(output.ok()) << output.status();
      if (--left == 0) return finished.set_value();
      if (left > 0) next();
    });
  };
  next();
  finished.get_future().wait();
}

TEST_F(ClientStreamTest, ADrainAnswersWhatItAcceptedAndRefusesTheRest) {
  StartGated();
  const auto stream = Open(*client_);
  const std::vector<float> values = Ramp(100'000);
  std::thread drain;
  Result accepted;
  {
    const GateCloser closer(device_);
    accepted = SubmitAndHold(*stream, values);
    drain = std::thread(
        [this] { EXPECT_EQ(server_->Drain(std::chrono::seconds(30)), DrainResult::kComplete); });
  }
  ExpectRounded(accepted.get(), values);
  drain.join();
  EXPECT_TRUE(absl::IsUnavailable(stream->SubmitFuture(Round(values)).get().status()));
}

TEST(ClientStreamProcessTest, AServerThatDiesFailsAllThatIsOpen) {
  const testing::TemporaryFolder folder;
  testing::ServerProcess server(testing::ServerProcess::Serving(folder.path()));
  const std::vector<std::string> addresses = server.WaitReady(folder.path());
  ASSERT_FALSE(addresses.empty());
  const auto client = Connect(addresses[0]);
  const auto stream = Open(*client);
  const std::vector<float> values = Ramp(1 << 20);
  std::vector<Result> results;
  for (int i = 0; i < 200; ++i) results.push_back(stream->SubmitFuture(Round(values)));
  ExpectRounded(results.front().get(), values);
  server.Signal(SIGKILL);
  int failed = 0;
  for (size_t i = 1; i < results.size(); ++i) {
    const absl::Status status = results[i].get().status();
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    failed += status.ok() ? 0 : 1;
  }
  EXPECT_GT(failed, 0);
  EXPECT_TRUE(absl::IsUnavailable(stream->SubmitFuture(Round(values)).get().status()));
  EXPECT_TRUE(absl::IsUnavailable(stream->Finish()));
}

TEST(ClientStreamProcessTest, AServerThatIsNotThereFailsTheFirstRequest) {
  const auto client = Connect("127.0.0.1:1", {.connect_timeout = absl::ZeroDuration()});
  const auto stream = Open(*client);
  const std::vector<float> values = Ramp(10);
  EXPECT_TRUE(absl::IsUnavailable(stream->SubmitFuture(Round(values)).get().status()));
}

}  // namespace
}  // namespace opserve
