// Another identity that has learned the id of a region of shared memory.

#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_replace.h"
#include "tests/integration/memory_fixture.h"
#include "tests/integration/token_file.h"

namespace opserve::testing {
namespace {

// A server on a socket file and a loopback port, and a region that this process has registered. The
// thief is a token on the same machine.
class StolenRegionTest : public MemoryTest {
 protected:
  StolenRegionTest() {
    options_.listen.push_back("127.0.0.1:0");
    options_.access.tokens_file = tokens_.path();
    Start();
    tcp_ = v1::OperatorService::NewStub(
        ConnectTo("127.0.0.1:" + std::to_string(server_->server().port())));
    client_ = std::make_unique<RegionClient>(region_socket());
    region_ = client_->Register(*memory_);
  }

  // What a call gets that reads from and writes to the region; the thief's where it has a token.
  grpc::Status Use(Stub& stub, const std::string& region, const std::string& token = "") {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::ExecuteResponse response;
    return stub.Execute(&context, RoundAt(4, InRegion(region, 0, 16), InRegion(region, 64, 16)),
                        &response);
  }
  // The same of a sequence whose result alone goes there.
  grpc::Status Overwrite(Stub& stub, const std::string& token) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token);
    v1::ExecuteSequenceRequest sequence;
    const v1::ExecuteRequest round = RoundRequest({1, 2, 3, 4});
    *sequence.mutable_inputs() = round.inputs();
    *sequence.mutable_payloads() = round.payloads();
    v1::SequenceStep& step = *sequence.add_steps();
    step.set_operator_(round.operator_());
    *step.mutable_attributes() = round.attributes();
    step.add_inputs()->set_input(0);
    v1::SequenceOutput& output = *sequence.add_outputs();
    output.set_step(0);
    *output.mutable_place() = InRegion(region_, 64, 16);
    v1::ExecuteSequenceResponse response;
    return stub.ExecuteSequence(&context, sequence, &response);
  }
  // Not a word but the id may tell a region that there is from one that there is not.
  void ExpectNotFound(const grpc::Status& status, const grpc::Status& unknown,
                      const std::string& unknown_id) {
    EXPECT_EQ(ReasonOf(status), "REGION_NOT_FOUND");
    EXPECT_EQ(status.error_code(), unknown.error_code());
    EXPECT_EQ(absl::StrReplaceAll(status.error_message(), {{region_, unknown_id}}),
              unknown.error_message());
    EXPECT_EQ(absl::StrReplaceAll(status.error_details(), {{region_, unknown_id}}),
              unknown.error_details());
  }

  TokenFile tokens_;
  const std::string token_ = tokens_.Add("thief");
  const std::unique_ptr<SharedMemory> memory_ = SharedValues(Floats(32, 1.5f));
  std::unique_ptr<Stub> tcp_;
  std::unique_ptr<RegionClient> client_;
  std::string region_;
};

TEST_F(StolenRegionTest, OverTcpItIsOfTheIdentityThatUsedItFirst) {
  EXPECT_TRUE(Use(*tcp_, region_).ok());
  EXPECT_EQ(ValuesAt(*memory_, 64, 4), Floats(4, 2));
  std::memset(memory_->data() + 64, 0, 16);
  const std::string unknown_id(32, 'f');
  const grpc::Status unknown = Use(*tcp_, unknown_id, token_);
  ExpectNotFound(Use(*tcp_, region_, token_), unknown, unknown_id);
  EXPECT_EQ(ReasonOf(Overwrite(*tcp_, token_)), "REGION_NOT_FOUND");
  EXPECT_EQ(ValuesAt(*memory_, 64, 4), Floats(4, 0));
  EXPECT_TRUE(Use(*tcp_, region_).ok());
  // The user who registered it needs no other proof than the socket file.
  EXPECT_TRUE(Use(server_->stub(), region_).ok());
}

TEST_F(StolenRegionTest, WhatIsUsedOverTheSocketFileIsNotThereOverTcp) {
  EXPECT_TRUE(Use(server_->stub(), region_).ok());
  EXPECT_EQ(ReasonOf(Use(*tcp_, region_)), "REGION_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Use(*tcp_, region_, token_)), "REGION_NOT_FOUND");
  EXPECT_TRUE(Use(server_->stub(), region_).ok());
  // A token over the socket file is the same user's.
  EXPECT_TRUE(Use(server_->stub(), region_, token_).ok());
}

}  // namespace
}  // namespace opserve::testing
