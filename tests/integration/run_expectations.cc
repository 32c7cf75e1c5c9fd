#include "tests/integration/run_expectations.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/failing_device.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/requests.h"
#include "tests/integration/test_stream.h"

namespace opserve::testing {

using ::testing::HasSubstr;

void ExpectNothingHeld(TestServer& server) {
  EXPECT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(server.server().usage().bytes, 0u);
}

void ExpectSameInRuns(TestServer& server, const v1::ExecuteRequest& request, uint64_t run_bytes) {
  SCOPED_TRACE(request.operator_() + " in runs of " + std::to_string(run_bytes));
  const Answer whole = server.Execute(request);
  ASSERT_TRUE(whole.status.ok()) << whole.status.error_message();
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(5, request, run_bytes)) << stream.answer(5).terms->reason();
  stream.ExchangeRuns(5, request);
  const StreamedAnswer& answer = stream.answer(5);
  EXPECT_TRUE(answer.has_response) << answer.error.message();
  EXPECT_TRUE(answer.payload == whole.response.payload());
  EXPECT_EQ(answer.payload_bytes, whole.response.payload().size());
  EXPECT_EQ(answer.response.output().SerializeAsString(),
            whole.response.output().SerializeAsString());
  EXPECT_EQ(answer.response.execution().batch_size(), 1u);
  EXPECT_EQ(answer.response.execution().attempts(), 1u);
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

void ExpectPutTogether(TestServer& server, const v1::ExecuteRequest& request,
                       const std::string& reason, bool sends_ahead) {
  TestStream stream(server.stub());
  EXPECT_FALSE(stream.Offer(1, request, 20'000, sends_ahead));
  ASSERT_EQ(stream.answer(1).error.code(), 0) << stream.answer(1).error.message();
  EXPECT_THAT(stream.answer(1).terms->reason(), HasSubstr(reason));
  for (const std::string& payload : request.payloads()) {
    ASSERT_TRUE(stream.SendPiece(1, payload.substr(0, 5)));
    ASSERT_TRUE(stream.SendPiece(1, payload.substr(5)));
  }
  stream.ReadAnswer();
  EXPECT_TRUE(stream.answer(1).payload == server.Execute(request).response.payload());
  EXPECT_FALSE(stream.answer(1).payload.empty());
  EXPECT_TRUE(stream.Finish().ok());
}

namespace {

// Offers the request, sends its first run and takes what comes of that.
template <class Request>
void ExchangeFirstRun(TestStream& stream, uint64_t id, const Request& request) {
  ASSERT_TRUE(stream.Offer(id, request, 4000));
  ASSERT_TRUE(stream.SendRun(id, request, 0));
  for (uint64_t i = 0; i < stream.answer(id).messages_per_run(); ++i) {
    ASSERT_TRUE(stream.ReadMessage());
  }
}

void ExpectCancelled(const StreamedAnswer& answer) {
  EXPECT_EQ(answer.error.code(), grpc::CANCELLED);
  EXPECT_LT(answer.received_bytes(), answer.payload_bytes);
  EXPECT_FALSE(answer.has_response);
}

template <class Request>
void ExpectAnyCancelledHalfWay(const Request& request) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  TestServer server(options, {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  ExchangeFirstRun(stream, 1, request);
  {
    const GateCloser closer(device);
    for (uint64_t run = 1; run < 5; ++run) ASSERT_TRUE(stream.SendRun(1, request, run));
    ASSERT_TRUE(device.WaitForHeld(1));
    ASSERT_TRUE(stream.Cancel(1));
    // The server has taken the cancellation once it has taken what comes after it.
    ASSERT_TRUE(stream.Send(2, RoundRequest({0.5f})));
    ASSERT_TRUE(server.WaitForRequests(2));
  }
  EXPECT_EQ(std::max(stream.ReadAnswer(), stream.ReadAnswer()), 2u);
  ExpectCancelled(stream.answer(1));

  ExchangeFirstRun(stream, 3, request);
  ASSERT_TRUE(stream.Cancel(3));
  EXPECT_EQ(stream.ReadAnswer(), 3u);
  ExpectCancelled(stream.answer(3));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

template <class Request>
void ExpectErrorOfAnyHalfWay(const Request& request) {
  FailingDevice device(3);
  TestServer server({}, {.cpu = Borrow(device)});
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Offer(1, request, 4000));
  stream.ExchangeRuns(1, request);
  EXPECT_EQ(stream.answer(1).error.code(), grpc::INTERNAL);
  EXPECT_EQ(static_cast<uint64_t>(stream.answer(1).messages),
            3 * stream.answer(1).messages_per_run() + 1);
  EXPECT_FALSE(stream.answer(1).has_response);
  // What still comes is dropped, until the client says that nothing does.
  ASSERT_TRUE(stream.SendPiece(1, "what is under way"));
  ASSERT_TRUE(stream.Cancel(1));
  EXPECT_TRUE(stream.Finish().ok());
  ExpectNothingHeld(server);
}

}  // namespace

void ExpectCancelledHalfWay(const v1::ExecuteRequest& request) {
  ExpectAnyCancelledHalfWay(request);
}
void ExpectCancelledHalfWay(const v1::ExecuteSequenceRequest& request) {
  ExpectAnyCancelledHalfWay(request);
}
void ExpectErrorHalfWay(const v1::ExecuteRequest& request) { ExpectErrorOfAnyHalfWay(request); }
void ExpectErrorHalfWay(const v1::ExecuteSequenceRequest& request) {
  ExpectErrorOfAnyHalfWay(request);
}

}  // namespace opserve::testing
