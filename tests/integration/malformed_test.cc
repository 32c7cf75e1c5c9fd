// Hundreds of broken requests: each gets the right code, and the server serves on.

#include <algorithm>
#include <future>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/integration/malformed_cases.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

// Sends bytes as they are.
grpc::Status ExecuteBytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& bytes) {
  grpc::GenericStub stub(channel);
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/opserve.v1.OperatorService/Execute", {}, &request, &response,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

bool NamesField(const grpc::Status& status, const std::string& field) {
  const auto bad_request = DetailOf<rpc::BadRequest>(status);
  const auto& violations = bad_request.field_violations();
  return std::any_of(violations.begin(), violations.end(), [&](const auto& violation) {
    return field == "*" ||
           (field.empty() ? violation.field().empty() : violation.field().rfind(field, 0) == 0);
  });
}

TEST(MalformedTest, EachCaseGetsItsCodeAndTheServerServesOn) {
  ServerOptions options;
  options.max_message_bytes = kMalformedMaxMessageBytes;
  TestServer server(options);
  const std::vector<float> values = {0.5f, 1.5f, 2.5f};
  const std::string expected = BytesOf<float>({0, 2, 2});
  std::set<std::string> names;
  for (const MalformedCase& broken : MalformedCases()) {
    SCOPED_TRACE(broken.name);
    EXPECT_TRUE(names.insert(broken.name).second);
    const grpc::Status status = ExecuteBytes(server.channel(), broken.bytes);
    EXPECT_EQ(status.error_code(), broken.code) << status.error_message();
    if (broken.code == grpc::StatusCode::INVALID_ARGUMENT ||
        broken.code == grpc::StatusCode::NOT_FOUND) {
      EXPECT_TRUE(NamesField(status, broken.field))
          << broken.field << " is not among\n"
          << ::testing::PrintToString(ViolationsOf(status));
      EXPECT_FALSE(MayRetry(status));
    }
    const Answer answer = server.Execute(RoundRequest(values));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    ASSERT_EQ(answer.response.payload(), expected);
  }
  EXPECT_GE(names.size(), 300u);
}

}  // namespace
}  // namespace opserve::testing
