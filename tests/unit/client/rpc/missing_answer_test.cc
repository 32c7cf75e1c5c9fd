// What becomes of calls that gRPC ends without an answer.

#include "client/rpc/missing_answer.h"

#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

const grpc::Status kByGrpc(grpc::StatusCode::UNIMPLEMENTED,
                           "No message returned for unary request");

TEST(MissingAnswerTest, IsToldFromAnswersAndErrors) {
  const grpc::ByteBuffer none;
  const grpc::Slice empty;
  const grpc::ByteBuffer answer(&empty, 1);
  EXPECT_TRUE(LacksAnswer(kByGrpc, none));
  EXPECT_TRUE(LacksAnswer(grpc::Status::OK, none));
  // An answer without any field has no bytes.
  EXPECT_FALSE(LacksAnswer(grpc::Status::OK, answer));
  EXPECT_FALSE(LacksAnswer({grpc::StatusCode::UNIMPLEMENTED, "no such method"}, none));
  EXPECT_FALSE(LacksAnswer({grpc::StatusCode::UNAVAILABLE, "Socket closed"}, none));
}

TEST(MissingAnswerTest, IsTheEndOfTheCallThatTheClientAskedFor) {
  const system_clock::time_point deadline = system_clock::time_point() + seconds(10);
  EXPECT_TRUE(absl::IsDeadlineExceeded(MissingAnswer(deadline, deadline, false)));
  EXPECT_TRUE(absl::IsCancelled(MissingAnswer(deadline, deadline - seconds(1), true)));
  EXPECT_TRUE(absl::IsInternal(MissingAnswer(deadline, deadline - seconds(1), false)));
  EXPECT_TRUE(absl::IsInternal(MissingAnswer(system_clock::time_point::max(), deadline, false)));
}

}  // namespace
}  // namespace opserve::client_internal
