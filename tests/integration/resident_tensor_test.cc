// Resident tensors over gRPC, and requests that use them.

#include <chrono>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "proto/base/sha256.h"
#include "server/resident/tensor_quota.h"
#include "tests/integration/raw_calls.h"
#include "tests/integration/resident_fixture.h"
#include "tests/integration/sequence_requests.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(ResidentTensorTest, KeepsWhatIsWritten) {
  Start();
  const std::string tensor = CreateFloats({1, 2, 3});
  EXPECT_EQ(Values(tensor), (Floats{1, 2, 3}));
  EXPECT_TRUE(Write(tensor, 4, BytesOf(Floats{7})).ok());
  EXPECT_EQ(Values(tensor), (Floats{1, 7, 3}));
  v1::ReadTensorResponse response;
  EXPECT_TRUE(Read(tensor, response, 4, 8).ok());
  EXPECT_EQ(ValuesOf<float>(response.payload()), (Floats{7, 3}));
  EXPECT_EQ(response.desc().data_type(), v1::DATA_TYPE_FLOAT32);
  EXPECT_THAT(response.desc().sizes(), ElementsAre(3));
}

TEST_F(ResidentTensorTest, FreshTensorsAreZero) {
  Start();
  v1::CreateTensorRequest request = NewFloats(Floats(100000));
  request.clear_payload();
  const v1::CreateTensorResponse created = Create(request);
  EXPECT_TRUE(created.has_content());
  EXPECT_EQ(Values(created.tensor()), Floats(100000));
}

TEST_F(ResidentTensorTest, LargeTensorsTakeThePathBesideThePollers) {
  Start();
  Floats values(1 << 15, 1.5f);
  const std::string tensor = CreateFloats(values);
  values.back() = 9;
  EXPECT_TRUE(Write(tensor, 4 * (values.size() - 1), BytesOf(Floats{9})).ok());
  EXPECT_TRUE(Values(tensor) == values);
}

TEST_F(ResidentTensorTest, RefusesWhatIsWrongWithAll) {
  Start();
  v1::CreateTensorRequest request = NewFloats({1, 2});
  request.mutable_desc()->set_sizes(0, 0);
  request.set_sha256("short");
  EXPECT_THAT(ViolationsOf(Refusal(request)),
              ElementsAre(StartsWith("sha256: "), StartsWith("desc.sizes[0]: ")));
  request = NewFloats({1, 2});
  request.set_payload("123");
  EXPECT_THAT(ViolationsOf(Refusal(request)), ElementsAre(StartsWith("payload: ")));
  request = NewFloats({1, 2});
  request.set_label(std::string(129, 'x'));
  EXPECT_THAT(ViolationsOf(Refusal(request)), ElementsAre(StartsWith("label: ")));
  EXPECT_EQ(List().bytes(), 0);
}

TEST_F(ResidentTensorTest, RefusesRangesOutsideTheTensor) {
  Start();
  const std::string tensor = CreateFloats({1, 2, 3});
  v1::ReadTensorResponse response;
  EXPECT_THAT(ViolationsOf(Write(tensor, 9, "1234")), ElementsAre(StartsWith("payload: ")));
  EXPECT_THAT(ViolationsOf(Write(tensor, UINT64_MAX, "1")), ElementsAre(StartsWith("offset: ")));
  EXPECT_THAT(ViolationsOf(Read(tensor, response, 8, 5)), ElementsAre(StartsWith("bytes: ")));
  EXPECT_THAT(ViolationsOf(Read(tensor, response, 13, 0)), ElementsAre(StartsWith("offset: ")));
  EXPECT_THAT(ViolationsOf(Read(tensor, response, 4, UINT64_MAX)),
              ElementsAre(StartsWith("bytes: ")));
  EXPECT_EQ(Values(tensor), (Floats{1, 2, 3}));
}

TEST_F(ResidentTensorTest, OtherClientsHaveNoAccess) {
  Start();
  const std::string tensor = CreateFloats({1});
  v1::ReadTensorResponse response;
  for (const std::string& handle : {tensor, std::string(32, '0')}) {
    const grpc::Status status = Read(handle, response, 0, 0, "other");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(ReasonOf(status), "TENSOR_NOT_FOUND");
    EXPECT_EQ(ReasonOf(Write(handle, 0, "1234", "other")), "TENSOR_NOT_FOUND");
    EXPECT_EQ(ReasonOf(Execute(RoundAt(1, InTensor(handle)), "other").status), "TENSOR_NOT_FOUND");
    EXPECT_EQ(ReasonOf(Execute(RoundAt(1, InTensor(tensor), InTensor(handle)), "other").status),
              "TENSOR_NOT_FOUND");
    EXPECT_EQ(Delete(handle, "other"), 0);
  }
  EXPECT_THAT(List("other").tensors(), SizeIs(0));
  EXPECT_EQ(Values(tensor), Floats{1});
}

TEST_F(ResidentTensorTest, ListsAndDeletes) {
  Start();
  v1::CreateTensorRequest request = NewFloats({1, 2});
  request.set_label("weights");
  request.set_ttl_s(100);
  const std::string first = Create(request).tensor();
  const std::string second = CreateFloats({3});
  const v1::ListTensorsResponse list = List();
  ASSERT_THAT(list.tensors(), SizeIs(2));
  EXPECT_EQ(list.tensors(0).tensor(), first);
  EXPECT_EQ(list.tensors(0).label(), "weights");
  EXPECT_EQ(list.tensors(0).ttl_s(), 100);
  EXPECT_EQ(list.tensors(0).bytes(), 8);
  EXPECT_EQ(list.tensors(1).tensor(), second);
  EXPECT_EQ(list.bytes(), TensorCharge(8) + TensorCharge(4));
  EXPECT_EQ(list.max_bytes(), Info().limits().max_resident_bytes_per_client());
  EXPECT_EQ(Delete(first), 1);
  EXPECT_EQ(Delete(first), 0);
  EXPECT_EQ(List().bytes(), TensorCharge(4));
}

TEST_F(ResidentTensorTest, ServerInfoTellsTheLimits) {
  options_.tensors.max_bytes = 1000;
  options_.tensors.max_bytes_per_client = 100;
  options_.tensors.max_ttl = seconds(60);
  Start();
  EXPECT_EQ(Info().limits().max_resident_bytes(), 1000);
  EXPECT_EQ(Info().limits().max_resident_bytes_per_client(), 100);
  EXPECT_EQ(Info().limits().max_lease_s(), 60);
}

TEST_F(ResidentTensorTest, QuotasAreKept) {
  options_.tensors.max_bytes_per_client = TensorCharge(8);
  Start();
  const std::string tensor = CreateFloats({1, 2});
  const grpc::Status status = Refusal(NewFloats({3}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
  EXPECT_TRUE(MayRetry(status));
  Create(NewFloats({3}), "other");
  EXPECT_EQ(Delete(tensor), 1);
  CreateFloats({3});
}

// What a request reads itself is not in the way of its result.
TEST_F(ResidentTensorTest, WorkInPlaceNeedsNoRoomBesideTheTensor) {
  options_.tensors.max_bytes_per_client = TensorCharge(8);
  Start();
  const std::string tensor = CreateFloats({1.5f, -1.5f});
  for (int i = 0; i < 3; ++i) {
    const Answer answer = Execute(RoundAt(2, InTensor(tensor), InTensor(tensor)));
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
  EXPECT_EQ(List().bytes(), TensorCharge(8));
}

// The first result is in its place when the second one has no room: whoever ran the sequence again
// would double the tensor once more.
TEST_F(ResidentTensorTest, ASequenceThatIsHalfDoneIsNotToBeRunAgain) {
  // More than gRPC takes of an answer that nobody asks for.
  const Floats large(1 << 23, 0.5f);
  options_.tensors.max_bytes_per_client =
      TensorCharge(8) + TensorCharge(large.size() * sizeof(float));
  Start();
  const std::string doubled = Create(NewFloats({1, 2}), "").tensor();
  const std::string kept = Create(NewFloats(large), "").tensor();
  // Nobody takes the answer, so what the tensor holds stays read.
  RawStream reader(server_->channel(), "/opserve.v1.OperatorService/ReadTensor");
  v1::ReadTensorRequest read;
  read.set_tensor(kept);
  ASSERT_TRUE(reader.Write(read.SerializeAsString()));
  reader.WritesDone();
  ASSERT_TRUE(reader.WaitForAnswer());

  v1::ExecuteSequenceRequest request;
  for (const std::string& tensor : {doubled, kept}) {
    request.add_inputs();
    *request.add_input_places() = InTensor(tensor);
  }
  AddStep(request, "ELEMENT_WISE_ADD", {SequenceInput(0), SequenceInput(0)});
  AddRound(request, SequenceInput(1));
  for (int step = 0; step < 2; ++step) {
    v1::SequenceOutput& output = *request.add_outputs();
    output.set_step(step);
    *output.mutable_place() = request.input_places(step);
  }
  v1::ExecuteSequenceResponse response;
  const grpc::Status status = Call(&Stub::ExecuteSequence, request, response, "");
  EXPECT_EQ(ReasonOf(status), "TENSOR_QUOTA");
  EXPECT_FALSE(MayRetry(status));
  EXPECT_THAT(status.error_message(),
              HasSubstr("The results before outputs[1] are in their places."));
  v1::ReadTensorResponse values;
  EXPECT_TRUE(Read(doubled, values, 0, 0, "").ok());
  EXPECT_EQ(ValuesOf<float>(values.payload()), (Floats{2, 4}));
}

// However it is sent: payloads that a later one takes the place of, and fields that nobody knows.
TEST_F(ResidentTensorTest, RequestsAreAdmittedWithAllThatTheyHold) {
  options_.admission.max_bytes_per_client = 64 << 10;
  Start();
  const std::string tensor = Create(NewFloats({1}), "").tensor();
  v1::WriteTensorRequest write;
  write.set_tensor(tensor);
  write.set_payload(BytesOf(Floats{2}));
  v1::WriteTensorRequest first;
  first.set_payload(std::string(100 << 10, 'x'));
  const std::string unknown_field = "\xa2\x06\x01x";
  std::string unknown_fields;
  for (int i = 0; i < 4000; ++i) unknown_fields += unknown_field;
  for (const std::string& beside : {first.SerializeAsString(), unknown_fields}) {
    for (const auto& [method, request] :
         {std::pair("CreateTensor", NewFloats({1}).SerializeAsString()),
          std::pair("WriteTensor", write.SerializeAsString())}) {
      const std::string path = absl::StrCat("/opserve.v1.OperatorService/", method);
      EXPECT_TRUE(CallByName(server_->channel(), path, unknown_field + request).first.ok());
      EXPECT_EQ(ReasonOf(CallByName(server_->channel(), path, beside + request).first),
                "REQUEST_EXCEEDS_BUDGET")
          << method;
    }
  }
}

TEST_F(ResidentTensorTest, LeasesEndAndAreRenewed) {
  options_.tensors.default_ttl = seconds(10);
  options_.tensors.max_ttl = seconds(30);
  Start({.clock = &clock_});
  const std::string kept = CreateFloats({1});
  const std::string lost = CreateFloats({2});
  clock_.Advance(seconds(9));
  v1::RenewTensorsRequest renew;
  renew.add_tensors("none");
  renew.add_tensors(kept);
  renew.set_ttl_s(1000);
  v1::RenewTensorsResponse renewed;
  EXPECT_EQ(ReasonOf(Call(&Stub::RenewTensors, renew, renewed)), "TENSOR_NOT_FOUND");
  renew.mutable_tensors()->DeleteSubrange(0, 1);
  EXPECT_TRUE(Call(&Stub::RenewTensors, renew, renewed).ok());
  EXPECT_EQ(renewed.ttl_s(), 30);
  clock_.Advance(seconds(2));
  v1::ReadTensorResponse response;
  EXPECT_EQ(ReasonOf(Read(lost, response)), "TENSOR_NOT_FOUND");
  EXPECT_EQ(Values(kept), Floats{1});
  clock_.Advance(seconds(28));
  EXPECT_EQ(ReasonOf(Execute(RoundAt(1, InTensor(kept))).status), "TENSOR_NOT_FOUND");
}

TEST_F(ResidentTensorTest, KnownContentNeedNotBeSent) {
  Start();
  const Floats values(50000, 2.5f);
  const std::string bytes = BytesOf(values);
  Sha256 sha256;
  sha256.Add(std::as_bytes(std::span(bytes)));
  const Sha256Digest digest = sha256.Finish();
  v1::CreateTensorRequest named = NewFloats(values);
  named.clear_payload();
  named.set_sha256(digest.data(), digest.size());
  const v1::CreateTensorResponse unknown = Create(named);
  EXPECT_FALSE(unknown.has_content());
  EXPECT_TRUE(Write(unknown.tensor(), 0, bytes).ok());
  const v1::CreateTensorResponse known = Create(named);
  EXPECT_TRUE(known.has_content());
  EXPECT_TRUE(Values(known.tensor()) == values);
  EXPECT_FALSE(Create(named, "other").has_content());
  named.set_payload(BytesOf(Floats(50000, 3)));
  EXPECT_THAT(ViolationsOf(Refusal(named)), ElementsAre(StartsWith("sha256: ")));
}

TEST_F(ResidentTensorTest, RequestsReadAndWriteTensors) {
  Start();
  const std::string input = CreateFloats({-1.5f, 0.5f, 2.5f});
  const std::string output = CreateFloats({0, 0, 0});
  v1::ExecuteRequest request = RoundAt(3, InTensor(input), InTensor(output));
  // The tensor's own type and sizes.
  request.mutable_inputs(0)->Clear();
  const Answer answer = Execute(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_TRUE(answer.response.payload().empty());
  EXPECT_EQ(Values(output), (Floats{-2, 0, 2}));
  EXPECT_EQ(Values(input), (Floats{-1.5f, 0.5f, 2.5f}));
  const Answer in_place = Execute(RoundAt(3, InTensor(input), InTensor(input)));
  ASSERT_TRUE(in_place.status.ok()) << in_place.status.error_message();
  EXPECT_EQ(Values(input), (Floats{-2, 0, 2}));
}

TEST_F(ResidentTensorTest, RequestsMustFitTheTensor) {
  Start();
  const std::string three = CreateFloats({1, 2, 3});
  const std::string two = CreateFloats({1, 2});
  EXPECT_THAT(ViolationsOf(Execute(RoundAt(2, InTensor(three))).status),
              ElementsAre(StartsWith("input_places[0].tensor: ")));
  EXPECT_THAT(ViolationsOf(Execute(RoundAt(3, InTensor(three), InTensor(two))).status),
              ElementsAre(StartsWith("output_place.tensor: ")));
  EXPECT_EQ(Values(two), (Floats{1, 2}));
}

// Whatever a GPU does, and whatever becomes of it, tensors stay.
TEST_F(ResidentTensorTest, TensorsSurviveTheLossOfADevice) {
  NullDeviceFactory gpu(NullProfile("null/0", /*is_software=*/true));
  // The server makes devices until it has stopped.
  const absl::Cleanup stop = [this] { server_.reset(); };
  Start({.find_gpus = gpu.finder()});
  const std::string input = CreateFloats({-1.5f});
  const std::string output = CreateFloats({0});
  v1::ExecuteRequest request = RoundAt(1, InTensor(input), InTensor(output));
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  gpu.script()->LoseAtRun(1);
  const Answer answer = Execute(request);
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(answer.response.execution().attempts(), 2);
  EXPECT_EQ(Values(output), Floats{-2});
  EXPECT_EQ(Values(input), Floats{-1.5f});
}

}  // namespace
}  // namespace opserve::testing
