// Another identity that has learned the id of a lease, such as from the environment of a program.

#include <string>
#include <vector>

#include "tests/integration/device_lease_fixture.h"
#include "tests/integration/token_file.h"

namespace opserve::testing {
namespace {

// What a call gets: all that it tells.
std::string TextOf(const grpc::Status& status) {
  return ReasonOf(status) + "|" + status.error_message() + "|" + status.error_details();
}

// The holder is 127.0.0.1 without any proof, the thief a token on the same machine.
class StolenLeaseTest : public DeviceLeaseTest {
 protected:
  StolenLeaseTest() {
    ServerOptions options = OneByOneOptions();
    options.access.tokens_file = tokens_.path();
    StartServer(1, options);
  }

  // What the thief gets from a unary method.
  template <class Request, class Response>
  std::string Steal(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token_);
    Response response;
    return TextOf((server().stub().*method)(&context, request, &response));
  }

  // What the thief gets from all methods that take a lease.
  std::vector<std::string> StealAll(const std::string& id) {
    v1::RenewLeaseRequest renew;
    renew.set_device_lease(id);
    renew.set_time_s(60);
    v1::ReleaseLeaseRequest release;
    release.set_device_lease(id);
    v1::ExecuteSequenceRequest sequence;
    const v1::ExecuteRequest round = OnGpu(1, id);
    *sequence.mutable_inputs() = round.inputs();
    *sequence.mutable_payloads() = round.payloads();
    sequence.set_device_lease(id);
    v1::SequenceStep& step = *sequence.add_steps();
    step.set_operator_(round.operator_());
    *step.mutable_attributes() = round.attributes();
    step.add_inputs()->set_input(0);
    return {Steal(&Stub::Execute, round), Steal(&Stub::ExecuteSequence, sequence),
            Steal(&Stub::RenewLease, renew), Steal(&Stub::ReleaseLease, release)};
  }

  // ErrorInfo.reason of what the thief gets for a request of a stream.
  std::string StealInStream(const std::string& id) {
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + token_);
    const auto stream = server().stub().ExecuteStream(&context);
    v1::ExecuteStreamRequest message;
    message.set_id(1);
    *message.mutable_request() = OnGpu(1, id);
    message.mutable_payloads()->Swap(message.mutable_request()->mutable_payloads());
    v1::ExecuteStreamResponse answer;
    EXPECT_TRUE(stream->Write(message) && stream->Read(&answer));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return ReasonOf(grpc::Status(grpc::StatusCode::UNKNOWN, "", answer.error()));
  }

  TokenFile tokens_;
  const std::string token_ = tokens_.Add("thief");
};

TEST_F(StolenLeaseTest, ItsIdIsNotFound) {
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  const std::vector<std::string> stolen = StealAll(holder.id());
  for (const std::string& text : stolen) {
    EXPECT_EQ(text.substr(0, text.find('|')), "DEVICE_LEASE_NOT_FOUND");
  }
  EXPECT_EQ(StealInStream(holder.id()), "DEVICE_LEASE_NOT_FOUND");
  // Exactly as if there were none: nobody learns that there is one.
  EXPECT_EQ(stolen, StealAll(std::string(32, 'f')));
  // The holder has lost nothing, neither the lease nor its time.
  EXPECT_EQ(RunOn(OnGpu(1, holder.id())), "null/0");
  EXPECT_TRUE(Release(holder.id()).ok());
}

TEST_F(StolenLeaseTest, TheThiefsOwnIsOfNoUseToOthers) {
  LeasingClient holder(server().stub(), "", 0, "", "Bearer " + token_);
  ASSERT_TRUE(holder.WaitUntilGranted());
  EXPECT_EQ(ReasonFor(OnGpu(1, holder.id())), "DEVICE_LEASE_NOT_FOUND");
  v1::RenewLeaseResponse renewed;
  EXPECT_EQ(ReasonOf(Renew(holder.id(), 60, renewed)), "DEVICE_LEASE_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Release(holder.id())), "DEVICE_LEASE_NOT_FOUND");
  EXPECT_EQ(Steal(&Stub::Execute, OnGpu(1, holder.id())), "||");
}

// Names prove nothing: what a program gives itself as one divides its identity only.
TEST_F(StolenLeaseTest, AnotherNameOfTheSameIdentityHasTheLease) {
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  grpc::ClientContext context;
  context.AddMetadata("opserve-client", "the command under opserve lease");
  v1::ExecuteResponse response;
  const grpc::Status status = server().stub().Execute(&context, OnGpu(1, holder.id()), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.execution().device(), "null/0");
}

}  // namespace
}  // namespace opserve::testing
