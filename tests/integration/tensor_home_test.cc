// Resident tensors that are placed on a GPU: where requests with them run, and that nothing depends
// on what the GPU keeps. The GPUs are scripted; they keep everything that has an id.

#include <memory>

#include "gmock/gmock.h"
#include "tests/integration/resident_fixture.h"
#include "tests/integration/sequence_requests.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class TensorHomeTest : public ResidentTensorTest {
 protected:
  // With the first `gpus` of two GPUs, which stay in service whatever they compute.
  void StartWithGpus(int gpus = 2) {
    options_.pool.health.max_mismatches = 1000;
    options_.pool.health.min_backoff = std::chrono::hours(1);
    options_.pool.health.max_backoff = std::chrono::hours(1);
    std::vector<DeviceSource> sources;
    for (int i = 0; i < gpus; ++i) sources.push_back(gpus_[i]->source());
    ServerEnvironment environment;
    if (gpus > 0) environment.find_gpus = [sources] { return sources; };
    Start(environment);
  }
  NullScript& script(int gpu) { return *gpus_[gpu]->script(); }
  v1::DeviceInfo InfoOf(int gpu) { return Info().devices(gpu + 1); }
  std::string cpu_name() { return Info().devices(0).name(); }

  static v1::CreateTensorRequest NewOn(const std::string& device, const Floats& values) {
    v1::CreateTensorRequest request = NewFloats(values);
    request.set_device(device);
    return request;
  }
  std::string CreateOn(const std::string& device, const Floats& values) {
    return Create(NewOn(device, values)).tensor();
  }
  v1::CreateTensorRequest NewOnAnyGpu(const Floats& values) {
    v1::CreateTensorRequest request = NewFloats(values);
    request.set_placement(v1::DEVICE_PREFERENCE_GPU);
    return request;
  }

  // Rounds a tensor with `count` elements into another one, or in place. The device that did.
  std::string Round(uint32_t count, const std::string& input, const std::string& output,
                    v1::DevicePreference device = v1::DEVICE_PREFERENCE_UNSPECIFIED,
                    bool verify = false) {
    v1::ExecuteRequest request = RoundAt(count, InTensor(input), InTensor(output));
    request.set_device(device);
    request.set_verify(verify);
    const Answer answer = Execute(request);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    return answer.response.execution().device();
  }

  const std::unique_ptr<NullDeviceFactory> gpus_[2] = {
      std::make_unique<NullDeviceFactory>(NullProfile("null/0", /*is_software=*/true)),
      std::make_unique<NullDeviceFactory>(NullProfile("null/1", /*is_software=*/true))};
};

TEST_F(TensorHomeTest, TensorsAreOnNoDeviceUnlessTheyShallBe) {
  StartWithGpus();
  EXPECT_EQ(Create(NewFloats({1})).device(), "");
  for (const auto placement : {v1::DEVICE_PREFERENCE_AUTO, v1::DEVICE_PREFERENCE_CPU}) {
    v1::CreateTensorRequest request = NewFloats({1});
    request.set_placement(placement);
    EXPECT_EQ(Create(request).device(), "");
  }
  EXPECT_EQ(Create(NewOn(cpu_name(), {1})).device(), "");
  EXPECT_EQ(List().tensors(0).device(), "");
}

TEST_F(TensorHomeTest, TellsWhereTensorsAre) {
  StartWithGpus();
  EXPECT_EQ(Create(NewOn("null/1", {1})).device(), "null/1");
  EXPECT_EQ(Create(NewFloats({1})).device(), "");
  v1::CreateTensorRequest request = NewOn("null/0", {1});
  request.set_placement(v1::DEVICE_PREFERENCE_GPU);
  EXPECT_EQ(Create(request).device(), "null/0");
  const v1::ListTensorsResponse list = List();
  ASSERT_THAT(list.tensors(), SizeIs(3));
  EXPECT_EQ(list.tensors(0).device(), "null/1");
  EXPECT_EQ(list.tensors(1).device(), "");
  EXPECT_EQ(list.tensors(2).device(), "null/0");
}

TEST_F(TensorHomeTest, TheGpuWithTheFewestBytesOfTensorsIsTaken) {
  StartWithGpus();
  const v1::CreateTensorResponse first = Create(NewOnAnyGpu(Floats(3)));
  EXPECT_EQ(first.device(), "null/0");
  EXPECT_EQ(Create(NewOnAnyGpu(Floats(1))).device(), "null/1");
  EXPECT_EQ(Create(NewOnAnyGpu(Floats(1)), "other").device(), "null/1");
  EXPECT_EQ(Create(NewOnAnyGpu(Floats(2))).device(), "null/1");
  EXPECT_EQ(Delete(first.tensor()), 1);
  EXPECT_EQ(Create(NewOnAnyGpu(Floats(1))).device(), "null/0");
}

TEST_F(TensorHomeTest, GpusThatTakeNoRequestsAreTheLastChoice) {
  StartWithGpus();
  const std::string tensor = CreateOn("null/1", {1.5f});
  script(0).LoseAtRun(1);
  v1::ExecuteRequest request = RoundRequest({1});
  request.set_device(v1::DEVICE_PREFERENCE_GPU);
  ASSERT_TRUE(Execute(request).status.ok());
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_LOST);
  EXPECT_EQ(Create(NewOnAnyGpu({1})).device(), "null/1");
  // A name is obeyed; the device may come back.
  EXPECT_EQ(Create(NewOn("null/0", {1})).device(), "null/0");
}

TEST_F(TensorHomeTest, RefusesWhatIsWrongWithThePlacement) {
  StartWithGpus();
  const grpc::Status unknown = Refusal(NewOn("null/7", {1}));
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ViolationsOf(unknown),
              ElementsAre(AllOf(StartsWith("device: "), HasSubstr("\"null/7\""),
                                HasSubstr(cpu_name() + ", null/0, null/1"))));
  v1::CreateTensorRequest request = NewOn(cpu_name(), {1});
  request.set_placement(v1::DEVICE_PREFERENCE_GPU);
  EXPECT_THAT(ViolationsOf(Refusal(request)),
              ElementsAre("device: The device is a CPU, but the placement is GPU."));
  request = NewOn("null/0", {1});
  request.set_placement(v1::DEVICE_PREFERENCE_CPU);
  EXPECT_THAT(ViolationsOf(Refusal(request)),
              ElementsAre("device: The device is a GPU, but the placement is CPU."));
  request = NewFloats({1});
  request.set_placement(static_cast<v1::DevicePreference>(9));
  request.mutable_desc()->set_sizes(0, 0);
  EXPECT_THAT(ViolationsOf(Refusal(request)),
              ElementsAre(StartsWith("desc.sizes[0]: "), StartsWith("placement: ")));
  EXPECT_THAT(List().tensors(), SizeIs(0));
}

TEST_F(TensorHomeTest, WithoutAGpuNoneCanBeAskedFor) {
  StartWithGpus(0);
  const grpc::Status status = Refusal(NewOnAnyGpu({1}));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ReasonOf(status), "DEVICE_UNAVAILABLE");
  EXPECT_THAT(ViolationsOf(Refusal(NewOn("null/0", {1}))), ElementsAre(StartsWith("device: ")));
  EXPECT_THAT(List().tensors(), SizeIs(0));
}

TEST_F(TensorHomeTest, RequestsRunAtHome) {
  StartWithGpus();
  const std::string placed = CreateOn("null/1", {-1.5f, 0.5f, 2.5f});
  const std::string other = CreateFloats({0, 0, 0});
  EXPECT_EQ(Round(3, placed, other), "null/1");
  EXPECT_EQ(Values(other), (Floats{-2, 0, 2}));
  // By the place of the result as well.
  EXPECT_EQ(Round(3, other, placed), "null/1");
  EXPECT_EQ(Values(placed), (Floats{-2, 0, 2}));
  EXPECT_EQ(Round(3, other, other), cpu_name());
  EXPECT_EQ(Round(3, placed, placed, v1::DEVICE_PREFERENCE_GPU), "null/1");
  EXPECT_EQ(Round(3, placed, placed, v1::DEVICE_PREFERENCE_CPU), cpu_name());
}

TEST_F(TensorHomeTest, SequencesRunAtHome) {
  StartWithGpus();
  const std::string placed = CreateOn("null/1", {1.25f});
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {1}, BytesOf(Floats{2.25f}));
  AddRound(request, SequenceInput(0));
  *request.add_outputs()->mutable_place() = InTensor(placed);
  v1::ExecuteSequenceResponse response;
  const grpc::Status status = Call(&Stub::ExecuteSequence, request, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.execution().device(), "null/1");
  EXPECT_EQ(Values(placed), Floats{2});
}

TEST_F(TensorHomeTest, ATensorInThePlaceOfADeletedOneHasItsOwnBytes) {
  StartWithGpus(1);
  const std::string result = CreateOn("null/0", {0});
  for (const float value : {1, 2, 3}) {
    const std::string tensor = CreateOn("null/0", {value});
    EXPECT_EQ(Round(1, tensor, result), "null/0");
    EXPECT_EQ(Values(result), Floats{value});
    EXPECT_EQ(Delete(tensor), 1);
  }
}

// Whoever breaks the chain of ids makes the device read old bytes, or upload again.
TEST_F(TensorHomeTest, AChainUploadsOnce) {
  StartWithGpus(1);
  Floats values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i) + 0.25f);
  const std::string tensor = CreateOn("null/0", values);
  const uint64_t before = InfoOf(0).counters().uploaded_bytes();
  EXPECT_EQ(Round(1000, tensor, tensor), "null/0");
  const uint64_t uploaded = InfoOf(0).counters().uploaded_bytes();
  EXPECT_GE(uploaded, before + 4000);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Round(1000, tensor, tensor), "null/0");
  EXPECT_EQ(InfoOf(0).counters().uploaded_bytes(), uploaded);
  EXPECT_EQ(InfoOf(0).counters().kept_inputs(), 10);
  EXPECT_GT(InfoOf(0).kept_bytes(), 0);
  for (float& value : values) value -= 0.25f;
  EXPECT_EQ(Values(tensor), values);
}

TEST_F(TensorHomeTest, WritesAreSeen) {
  StartWithGpus(1);
  const std::string tensor = CreateOn("null/0", {1.25f, 2.25f});
  const std::string result = CreateOn("null/0", {0, 0});
  EXPECT_EQ(Round(2, tensor, result), "null/0");
  EXPECT_TRUE(Write(tensor, 4, BytesOf(Floats{7.25f})).ok());
  EXPECT_EQ(Round(2, tensor, result), "null/0");
  EXPECT_EQ(Values(result), (Floats{1, 7}));
}

// What the processor computed, or read, is what comes next on the GPU.
TEST_F(TensorHomeTest, DevicesTakeTurns) {
  StartWithGpus(1);
  const std::string tensor = CreateOn("null/0", {1.25f});
  const std::string result = CreateOn("null/0", {0});
  EXPECT_EQ(Round(1, tensor, result), "null/0");
  EXPECT_EQ(Values(result), Floats{1});
  EXPECT_TRUE(Write(tensor, 0, BytesOf(Floats{2.25f})).ok());
  EXPECT_EQ(Round(1, tensor, result, v1::DEVICE_PREFERENCE_CPU), cpu_name());
  EXPECT_EQ(Values(result), Floats{2});
  EXPECT_EQ(Round(1, result, tensor), "null/0");
  EXPECT_EQ(Values(tensor), Floats{2});
}

// The device keeps its wrong result under an id that no tensor has.
TEST_F(TensorHomeTest, AWrongResultIsNotReadAgain) {
  StartWithGpus(1);
  const std::string tensor = CreateOn("null/0", {-1.5f});
  script(0).CorruptResult(1);
  EXPECT_EQ(Round(1, tensor, tensor, v1::DEVICE_PREFERENCE_GPU, /*verify=*/true), cpu_name());
  EXPECT_EQ(InfoOf(0).counters().mismatches(), 1);
  EXPECT_EQ(Values(tensor), Floats{-2});
  EXPECT_EQ(Round(1, tensor, tensor), "null/0");
  EXPECT_EQ(Values(tensor), Floats{-2});
  EXPECT_EQ(InfoOf(0).counters().kept_inputs(), 0);
}

// Nothing that was acknowledged is lost with a device, nor kept by the one that takes its place.
TEST_F(TensorHomeTest, TensorsSurviveTheLossOfTheirHome) {
  StartWithGpus(2);
  const std::string tensor = CreateOn("null/1", {-1.5f});
  const std::string result = CreateOn("null/1", {0});
  EXPECT_EQ(Round(1, tensor, tensor), "null/1");
  script(1).LoseAtRun(1);
  EXPECT_EQ(Round(1, tensor, result), cpu_name());
  EXPECT_EQ(InfoOf(1).state(), v1::DEVICE_STATE_LOST);
  EXPECT_EQ(Values(tensor), Floats{-2});
  EXPECT_EQ(Values(result), Floats{-2});
  EXPECT_EQ(Round(1, tensor, tensor, v1::DEVICE_PREFERENCE_GPU), "null/0");
  EXPECT_EQ(Values(tensor), Floats{-2});
  EXPECT_EQ(List().tensors(0).device(), "null/1");
}

}  // namespace
}  // namespace opserve::testing
