#include "tests/integration/run_expectations.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

}  // namespace opserve::testing
