// ExecuteSequence through a real server.

#include <chrono>
#include <cmath>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

// What a client got.
struct SequenceAnswer {
  grpc::Status status;
  v1::ExecuteSequenceResponse response;
};

SequenceAnswer Execute(TestServer& server, const v1::ExecuteSequenceRequest& request,
                       std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  SequenceAnswer answer;
  answer.status = server.stub().ExecuteSequence(&context, request, &answer.response);
  return answer;
}

// One server for all tests of the file that need no special one.
class SequenceTest : public ::testing::Test {
 protected:
  static TestServer& server() {
    static TestServer server;
    return server;
  }

  static v1::ExecuteSequenceResponse Run(const v1::ExecuteSequenceRequest& request) {
    SequenceAnswer answer = Execute(server(), request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message() << "\n"
                                    << ::testing::PrintToString(ViolationsOf(answer.status));
    return std::move(answer.response);
  }

  static void ExpectViolations(const v1::ExecuteSequenceRequest& request,
                               const std::vector<std::string>& fields) {
    const grpc::Status status = Execute(server(), request).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
    const auto bad_request = DetailOf<rpc::BadRequest>(status);
    std::vector<std::string> found;
    for (const auto& violation : bad_request.field_violations()) found.push_back(violation.field());
    EXPECT_EQ(found, fields) << ::testing::PrintToString(ViolationsOf(status));
  }
};

TEST_F(SequenceTest, LaterStepsUseEarlierResults) {
  v1::ExecuteSequenceRequest request = ChoiceRequest({0.5f, 1.5f, -2.6f, kInfinity, -kInfinity});
  request.set_request_id("choice");
  const v1::ExecuteSequenceResponse response = Run(request);
  EXPECT_EQ(response.request_id(), "choice");
  ASSERT_THAT(response.payloads(), SizeIs(1));
  EXPECT_THAT(ValuesOf<float>(response.payloads(0)), ElementsAre(0, 2, -3, kInfinity, -kInfinity));
  ASSERT_THAT(response.outputs(), SizeIs(1));
  EXPECT_EQ(response.outputs(0).data_type(), v1::DATA_TYPE_FLOAT32);
  EXPECT_THAT(response.outputs(0).sizes(), ElementsAre(5));
  EXPECT_THAT(response.execution().device(), StartsWith("cpu/"));
  EXPECT_EQ(response.execution().batch_size(), 1u);
  EXPECT_EQ(response.execution().attempts(), 1u);
}

TEST_F(SequenceTest, ReturnsWhatIsAskedForInThatOrder) {
  v1::ExecuteSequenceRequest request = ChoiceRequest({2.5f, kInfinity});
  for (const uint32_t step : {2, 0}) request.add_outputs()->set_step(step);
  const v1::ExecuteSequenceResponse response = Run(request);
  ASSERT_THAT(response.payloads(), SizeIs(2));
  EXPECT_THAT(ValuesOf<float>(response.payloads(0)), ElementsAre(2, kInfinity));
  EXPECT_THAT(ValuesOf<uint8_t>(response.payloads(1)), ElementsAre(0, 1));
  EXPECT_EQ(response.outputs(1).data_type(), v1::DATA_TYPE_UINT8);
}

TEST_F(SequenceTest, ViewsBroadcastAndTranspose) {
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {2, 3},
                   BytesOf<float>({10.4f, 20.4f, 30.4f, 40.4f, 50.4f, 60.4f}));
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {1}, BytesOf<float>({7}));
  AddRound(request, SequenceInput(0));
  v1::StepInput transposed = StepInputFrom(0);
  for (const uint32_t size : {3, 2}) transposed.mutable_view()->add_sizes(size);
  for (const uint32_t stride : {1, 3}) transposed.mutable_view()->add_strides(stride);
  v1::StepInput broadcast = SequenceInput(1);
  for (const uint32_t size : {3, 2}) broadcast.mutable_view()->add_sizes(size);
  for (const uint32_t stride : {0, 0}) broadcast.mutable_view()->add_strides(stride);
  AddStep(request, "ELEMENT_WISE_MODULUS_TRUNCATE", {transposed, broadcast});
  const v1::ExecuteSequenceResponse response = Run(request);
  EXPECT_THAT(response.outputs(0).sizes(), ElementsAre(3, 2));
  EXPECT_THAT(ValuesOf<float>(response.payloads(0)), ElementsAre(3, 5, 6, 1, 2, 4));
}

TEST_F(SequenceTest, EqualsSingleCalls) {
  std::mt19937 random(5);
  std::vector<float> values(100'000);
  for (float& value : values) value = static_cast<float>(random() % 100'000) / 16;
  std::vector<float> divisors(values.size());
  for (float& value : divisors) value = static_cast<float>(random() % 100) / 4;

  v1::ExecuteSequenceRequest sequence;
  const std::vector<uint32_t> sizes = {static_cast<uint32_t>(values.size())};
  AddSequenceInput(sequence, v1::DATA_TYPE_FLOAT32, sizes, BytesOf(values));
  AddSequenceInput(sequence, v1::DATA_TYPE_FLOAT32, sizes, BytesOf(divisors));
  AddStep(sequence, "ELEMENT_WISE_MODULUS_TRUNCATE", {SequenceInput(0), SequenceInput(1)});
  AddRound(sequence, StepInputFrom(0), 2);

  v1::ExecuteRequest remainder;
  remainder.set_operator_("ELEMENT_WISE_MODULUS_TRUNCATE");
  AddInput(remainder, v1::DATA_TYPE_FLOAT32, sizes, BytesOf(values));
  AddInput(remainder, v1::DATA_TYPE_FLOAT32, sizes, BytesOf(divisors));
  v1::ExecuteRequest rounded;
  rounded.set_operator_("ELEMENT_WISE_ROUND");
  AddEnum(rounded, "RoundingMode", "TOWARD_INFINITY");
  AddInput(rounded, v1::DATA_TYPE_FLOAT32, sizes, server().Execute(remainder).response.payload());
  const Answer expected = server().Execute(rounded);
  ASSERT_TRUE(expected.status.ok());
  EXPECT_TRUE(Run(sequence).payloads(0) == expected.response.payload());
}

TEST_F(SequenceTest, NamesAllFaultsOfAllSteps) {
  v1::ExecuteSequenceRequest request = ChoiceRequest({1});
  request.set_request_id(std::string(200, 'x'));
  request.mutable_steps(0)->mutable_attributes(0)->set_int_value(7);
  request.mutable_steps(1)->mutable_inputs(0)->set_input(3);
  request.mutable_steps(2)->clear_inputs();
  request.add_outputs()->set_step(5);
  ExpectViolations(request,
                   {"request_id", "steps[0].attributes[0].value", "steps[1].inputs[0].input",
                    "steps[2].inputs", "steps[2].inputs", "steps[2].inputs", "outputs[0].step"});
}

TEST_F(SequenceTest, ReferencesMustPointBack) {
  v1::ExecuteSequenceRequest request = ChoiceRequest({1});
  request.mutable_steps(0)->mutable_inputs(0)->set_step(2);
  ExpectViolations(request, {"steps[0].inputs[0].step"});
}

TEST_F(SequenceTest, OffersNearNamesForAnUnknownOperator) {
  v1::ExecuteSequenceRequest request = ChoiceRequest({1});
  request.mutable_steps(1)->set_operator_("ELEMENT_WISE_ROUNT");
  const grpc::Status status = Execute(server(), request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ReasonOf(status), "OPERATOR_NOT_FOUND");
  EXPECT_THAT(ViolationsOf(status).at(0), HasSubstr("steps[1].operator"));
}

// A resident tensor with these values.
std::string Create(TestServer& server, const std::vector<float>& values) {
  v1::CreateTensorRequest request;
  request.mutable_desc()->set_data_type(v1::DATA_TYPE_FLOAT32);
  request.mutable_desc()->add_sizes(static_cast<uint32_t>(values.size()));
  request.set_payload(BytesOf(values));
  grpc::ClientContext context;
  v1::CreateTensorResponse response;
  EXPECT_TRUE(server.stub().CreateTensor(&context, request, &response).ok());
  return response.tensor();
}

std::string Read(TestServer& server, const std::string& tensor) {
  v1::ReadTensorRequest request;
  request.set_tensor(tensor);
  grpc::ClientContext context;
  v1::ReadTensorResponse response;
  EXPECT_TRUE(server.stub().ReadTensor(&context, request, &response).ok());
  return response.payload();
}

TEST_F(SequenceTest, WorksOnResidentTensorsInPlace) {
  const std::vector<float> values = {0.5f, 1.5f, INFINITY, -2.5f};
  v1::ExecuteSequenceRequest request = ChoiceRequest(values);
  const SequenceAnswer expected = Execute(server(), request);
  ASSERT_TRUE(expected.status.ok());
  const std::string tensor = Create(server(), values);
  request.clear_payloads();
  request.mutable_inputs(0)->Clear();  // the tensor's own
  request.add_input_places()->set_tensor(tensor);
  v1::SequenceOutput& output = *request.add_outputs();
  output.set_step(static_cast<uint32_t>(request.steps_size() - 1));
  output.mutable_place()->set_tensor(tensor);
  const SequenceAnswer answer = Execute(server(), request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.payloads_size(), 0);
  EXPECT_EQ(answer.response.outputs(0).sizes(0), 4u);
  EXPECT_EQ(Read(server(), tensor), expected.response.payloads(0));
}

TEST_F(SequenceTest, PlacesAreChecked) {
  const std::string tensor = Create(server(), {1, 2});
  v1::ExecuteSequenceRequest request = ChoiceRequest({1});
  for (uint32_t step : {1u, 2u}) {
    v1::SequenceOutput& output = *request.add_outputs();
    output.set_step(step);
    output.mutable_place()->set_tensor(tensor);
  }
  ExpectViolations(request,
                   {"outputs[0].place.tensor", "outputs[1].place.tensor", "outputs[1].place"});
  request.mutable_outputs(1)->mutable_place()->set_tensor("nobody's");
  EXPECT_EQ(ReasonOf(Execute(server(), request).status), "TENSOR_NOT_FOUND");
}

TEST_F(SequenceTest, RefusesAGpuThatIsNotThere) {
  v1::ExecuteSequenceRequest request = ChoiceRequest({1});
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  const grpc::Status status = Execute(server(), request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "DEVICE_UNAVAILABLE");
}

TEST_F(SequenceTest, TellsItsLimit) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  ASSERT_TRUE(server().stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.limits().max_sequence_steps(), 64u);
}

TEST(SequenceLimitsTest, NumberOfSteps) {
  ServerOptions options;
  options.max_sequence_steps = 3;
  TestServer server(options);
  v1::ExecuteSequenceRequest request = ChoiceRequest({1});
  EXPECT_TRUE(Execute(server, request).status.ok());
  AddRound(request, StepInputFrom(2));
  const grpc::Status status = Execute(server, request).status;
  EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST");
  EXPECT_THAT(ViolationsOf(status), ElementsAre(HasSubstr("steps: The number of steps (4)")));
}

TEST(SequenceLimitsTest, CountsAllResponsesBeforeMakingThem) {
  ServerOptions options;
  options.max_message_bytes = 1 << 20;
  TestServer server(options);
  // One value, broadcast to 512 KiB, twice.
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {1}, BytesOf<float>({1.5f}));
  v1::StepInput broadcast = SequenceInput(0);
  broadcast.mutable_view()->add_sizes(1 << 17);
  broadcast.mutable_view()->add_strides(0);
  for (int i = 0; i < 2; ++i) {
    AddRound(request, broadcast);
    request.add_outputs()->set_step(static_cast<uint32_t>(i));
  }
  const grpc::Status status = Execute(server, request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "RESPONSE_TOO_LARGE");
}

// What lies between the steps counts too, where it has to be kept.
TEST(SequenceLimitsTest, CountsWhatIsKeptBetweenSteps) {
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {1}, BytesOf<float>({1.5f}));
  v1::StepInput broadcast = SequenceInput(0);
  broadcast.mutable_view()->add_sizes(1000);
  broadcast.mutable_view()->add_strides(0);
  AddRound(request, broadcast);
  v1::StepInput first = StepInputFrom(0);
  first.mutable_view()->add_sizes(1);
  AddRound(request, first);
  ServerOptions options;
  options.admission.max_bytes = 4 + 4032 + 4;
  EXPECT_TRUE(Execute(*std::make_unique<TestServer>(options), request).status.ok());
  options.admission.max_bytes -= 1;
  const grpc::Status status = Execute(*std::make_unique<TestServer>(options), request).status;
  EXPECT_EQ(ReasonOf(status), "REQUEST_EXCEEDS_BUDGET");
}

// A call in flight.
class PendingSequence {
 public:
  PendingSequence(TestServer& server, std::chrono::milliseconds timeout)
      : request_(ChoiceRequest({1})) {
    context_.set_deadline(std::chrono::system_clock::now() + timeout);
    status_ = std::async(std::launch::async, [this, &server] {
      v1::ExecuteSequenceResponse response;
      return server.stub().ExecuteSequence(&context_, request_, &response);
    });
  }
  void TryCancel() { context_.TryCancel(); }
  grpc::Status Get() { return status_.get(); }

 private:
  const v1::ExecuteSequenceRequest request_;
  grpc::ClientContext context_;
  std::future<grpc::Status> status_;
};

TEST(SequenceLimitsTest, NeverStartsWhatIsCancelledOrLate) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  TestServer server(options, {.cpu = Borrow(device)});
  {
    const GateCloser closer(device);
    PendingSequence first(server, std::chrono::minutes(1));
    ASSERT_TRUE(device.WaitForHeld(1));
    PendingSequence late(server, std::chrono::seconds(1));
    EXPECT_EQ(late.Get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    ASSERT_TRUE(server.WaitForRequests(1));
    PendingSequence cancelled(server, std::chrono::minutes(1));
    ASSERT_TRUE(server.WaitForRequests(2));
    cancelled.TryCancel();
    EXPECT_EQ(cancelled.Get().error_code(), grpc::StatusCode::CANCELLED);
    ASSERT_TRUE(server.WaitForRequests(1));
    device.Open();
    EXPECT_TRUE(first.Get().ok());
  }
  ASSERT_TRUE(server.WaitForRequests(0));
  EXPECT_EQ(device.runs(), 1);
}

// Sends bytes as they are.
grpc::Status ExecuteBytes(grpc::GenericStub& stub, const std::string& bytes) {
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/opserve.v1.OperatorService/ExecuteSequence", {}, &request, &response,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

TEST_F(SequenceTest, BrokenMessagesAreRefusedAndTheServerServesOn) {
  // It would report thousands of strings that are no UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  grpc::GenericStub stub(server().channel());
  v1::ExecuteSequenceRequest request = ChoiceRequest({0.5f, 1.5f, 2.5f});
  request.add_outputs()->set_step(2);
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {1}, BytesOf<float>({3}));
  v1::StepInput broadcast = SequenceInput(1);
  broadcast.mutable_view()->add_sizes(3);
  broadcast.mutable_view()->add_strides(0);
  AddStep(request, "ELEMENT_WISE_MODULUS_TRUNCATE", {StepInputFrom(2), broadcast});
  request.add_outputs()->set_step(3);
  const std::string good = request.SerializeAsString();
  ASSERT_TRUE(ExecuteBytes(stub, good).ok());

  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    const int edits = 1 + static_cast<int>(random() % 3);
    for (int e = 0; e < edits; ++e) {
      const size_t at = random() % bytes.size();
      if (random() % 8 == 0) {
        bytes.resize(at + 1);
      } else {
        bytes[at] = static_cast<char>(random());
      }
    }
    const grpc::Status status = ExecuteBytes(stub, bytes);
    if (status.ok()) continue;
    ++refused;
    const bool is_known = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                          status.error_code() == grpc::StatusCode::NOT_FOUND ||
                          ReasonOf(status) == "DEVICE_UNAVAILABLE" ||
                          ReasonOf(status) == "RESPONSE_TOO_LARGE" ||
                          ReasonOf(status) == "REQUEST_EXCEEDS_BUDGET";
    ASSERT_TRUE(is_known) << i << ": " << status.error_code() << " " << status.error_message();
  }
  EXPECT_GT(refused, 1000);
  EXPECT_TRUE(ExecuteBytes(stub, good).ok());
  EXPECT_TRUE(server().WaitForRequests(0));
}

// Computes nothing: a sequence runs until nobody waits for it.
class EndlessDevice final : public ComputeDevice {
 public:
  EndlessDevice() { profile_.name = "endless"; }

  const DeviceProfile& profile() const override { return profile_; }
  bool Supports(OpId, DataType) const override { return true; }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    while (!*calls[0].sequence->stop) std::this_thread::yield();
    return absl::CancelledError("stopped");
  }

 private:
  DeviceProfile profile_;
};

TEST(StoppedSequenceTest, ASequenceEndsWithItsDeadline) {
  TestServer server({}, {.cpu = std::make_shared<EndlessDevice>()});
  const SequenceAnswer answer =
      Execute(server, ChoiceRequest({1, 2, 3}), std::chrono::milliseconds(50));
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(server.WaitForRequests(0));
  // It was no fault of the device.
  v1::GetServerInfoResponse info;
  grpc::ClientContext context;
  ASSERT_TRUE(server.stub().GetServerInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.devices(0).counters().faults(), 0u);
}

}  // namespace
}  // namespace opserve::testing
