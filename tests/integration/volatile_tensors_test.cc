// Volatile tensors: their results stay on a GPU whatever they come from, the host has nothing to
// compute them from, and who asks for one that is lost is told so, and nobody else is.

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "server/resident/tensor_quota.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/unread_fixture.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;

class VolatileTensorsTest : public UnreadResultsTest {
 protected:
  static v1::CreateTensorRequest NewVolatile(float value) {
    v1::CreateTensorRequest request = NewFloats(Floats(kCount, value));
    request.set_device("null/0");
    request.set_is_volatile(true);
    return request;
  }
  std::string Volatile(float value) { return Create(NewVolatile(value)).tensor(); }
  std::string ReasonOfRead(const std::string& tensor) {
    v1::ReadTensorResponse response;
    return ReasonOf(Read(tensor, response));
  }
  // x = x + b, whose error has this reason; empty: it has none.
  std::string ReasonOfAdd(const std::string& x, const std::string& b) {
    return ReasonOf(Execute(AddRequest(x, b, x)).status);
  }
  // result = twice the input rounded.
  grpc::Status RunSequence(const std::string& input, const std::string& result,
                           bool verify = false) {
    v1::ExecuteSequenceRequest request;
    request.add_inputs();
    *request.add_input_places() = InTensor(input);
    AddRound(request, SequenceInput(0));
    AddStep(request, "ELEMENT_WISE_ADD", {StepInputFrom(0), StepInputFrom(0)});
    *request.add_outputs()->mutable_place() = InTensor(result);
    request.mutable_outputs(0)->set_step(1);
    request.set_verify(verify);
    v1::ExecuteSequenceResponse response;
    return Call(&Stub::ExecuteSequence, request, response);
  }
};

TEST_F(VolatileTensorsTest, ChainsOfAnyLengthStay) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  constexpr int kSteps = 2 * kMostOriginSteps + 8;
  for (int step = 0; step < kSteps; ++step) EXPECT_EQ(Add(x, one, x), "null/0");
  EXPECT_EQ(Counters().kept_results(), kSteps);
  EXPECT_EQ(Counters().read_results(), 0);
  for (int read = 0; read < 2; ++read) {
    EXPECT_TRUE(Holds(x, kSteps));
    EXPECT_EQ(Counters().read_results(), 1);
  }
}

TEST_F(VolatileTensorsTest, ResultsOfSequencesAndOfMessagesStay) {
  StartWithGpus();
  const std::string x = Volatile(0);
  ASSERT_TRUE(RunSequence(Full(3), x).ok());
  EXPECT_EQ(Counters().kept_results(), 1);
  EXPECT_TRUE(Holds(x, 6));
  v1::ExecuteRequest request = AddRequest(x, x, x);
  request.clear_input_places();
  for (int i = 0; i < 2; ++i) {
    request.mutable_inputs(i)->set_data_type(v1::DATA_TYPE_FLOAT32);
    request.mutable_inputs(i)->add_sizes(kCount);
    request.add_payloads(BytesOf(Floats(kCount, 2)));
  }
  ASSERT_TRUE(Execute(request).status.ok());
  EXPECT_EQ(Counters().kept_results(), 2);
  EXPECT_TRUE(Holds(x, 4));
}

TEST_F(VolatileTensorsTest, NothingIsKeptOfWhatResultsComeFrom) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  Add(x, one, x);
  EXPECT_EQ(Delete(one), 1);
  // An ordinary result would need the one.
  EXPECT_EQ(List().bytes(), TensorCharge(kBytes));
}

// What a device has is told as of its last run, when it still has what the result takes the place
// of.
TEST_F(VolatileTensorsTest, DevicesForgetWhatNobodyHasAnyMore) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  for (int step = 0; step < 2; ++step) Add(x, one, x);
  const uint64_t kept = InfoOf(0).kept_bytes();
  for (int step = 0; step < 3; ++step) Add(x, one, x);
  EXPECT_EQ(InfoOf(0).kept_bytes(), kept);
  EXPECT_EQ(Delete(x), 1);
  Add(one, one, one);
  EXPECT_EQ(InfoOf(0).kept_bytes(), kept - kBytes);
}

TEST_F(VolatileTensorsTest, TheLossOfTheDeviceIsTold) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  Add(x, one, x);
  script().LoseAtRun(1);
  EXPECT_EQ(ReasonOfAdd(x, one), "TENSOR_LOST");
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_LOST);
  v1::ReadTensorResponse response;
  const grpc::Status read = Read(x, response);
  EXPECT_EQ(read.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(ReasonOf(read), "TENSOR_LOST");
  EXPECT_THAT(read.error_message(), HasSubstr("\"null/0\" had it alone"));
  // The rest of it is lost.
  EXPECT_EQ(ReasonOf(Write(x, 4, BytesOf(Floats{7}))), "TENSOR_LOST");
  EXPECT_EQ(List().tensors_size(), 2);
  // Whole contents take its place.
  EXPECT_TRUE(Write(x, 0, BytesOf(Floats(kCount, 5))).ok());
  EXPECT_TRUE(Holds(x, 5));
  EXPECT_EQ(Add(x, one, x), cpu_name());
  EXPECT_TRUE(Holds(x, 6));
}

TEST_F(VolatileTensorsTest, AResultTakesThePlaceOfWhatIsLost) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  Add(x, one, x);
  script().ForgetAll();
  EXPECT_EQ(ReasonOfRead(x), "TENSOR_LOST");
  EXPECT_EQ(ReasonOfAdd(x, one), "TENSOR_LOST");
  EXPECT_EQ(ReasonOf(RunSequence(x, x)), "TENSOR_LOST");
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  Add(one, one, x);
  EXPECT_TRUE(Holds(x, 2));
}

TEST_F(VolatileTensorsTest, WhatWasReadIsNotLost) {
  StartWithGpus();
  const std::string x = Volatile(0);
  Add(x, Full(1), x);
  EXPECT_TRUE(Holds(x, 1));
  script().ForgetAll();
  EXPECT_TRUE(Holds(x, 1));
}

TEST_F(VolatileTensorsTest, WhatWasWrittenIsNotLost) {
  StartWithGpus();
  const std::string x = Volatile(4);
  const std::string sum = Full(0);
  Add(x, x, sum);
  script().ForgetAll();
  EXPECT_TRUE(Holds(x, 4));
  EXPECT_TRUE(Holds(sum, 8));
}

TEST_F(VolatileTensorsTest, ResultsWithoutRoomAreHandedOver) {
  StartWithGpus();
  script().HandOverResults();
  const std::string x = Volatile(0);
  Add(x, Full(1), x);
  EXPECT_EQ(Counters().kept_results(), 0);
  script().ForgetAll();
  EXPECT_TRUE(Holds(x, 1));
}

// An ordinary result that is computed from a volatile one could not be computed again.
TEST_F(VolatileTensorsTest, WhatComesFromThemIsHandedOver) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  const std::string sum = Full(0);
  Add(x, one, x);
  Add(x, one, sum);
  EXPECT_EQ(Counters().kept_results(), 1);
  script().ForgetAll();
  EXPECT_TRUE(Holds(sum, 2));
}

TEST_F(VolatileTensorsTest, VerifiedResultsAreHandedOver) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  Add(x, one, x);
  v1::ExecuteRequest request = AddRequest(x, one, x);
  request.set_verify(true);
  ASSERT_TRUE(Execute(request).status.ok());
  ASSERT_TRUE(RunSequence(x, x, /*verify=*/true).ok());
  EXPECT_EQ(Counters().kept_results(), 1);
  script().ForgetAll();
  EXPECT_TRUE(Holds(x, 4));
}

TEST_F(VolatileTensorsTest, AVerifiedCallOnWhatIsLostIsRefusedAlone) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  Add(x, one, x);
  script().ForgetAll();
  v1::ExecuteRequest request = AddRequest(x, one, x);
  request.set_verify(true);
  EXPECT_EQ(ReasonOf(Execute(request).status), "TENSOR_LOST");
}

TEST_F(VolatileTensorsTest, CallsOfTheSameBatchAreAnswered) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string y = Full(3);
  const std::string one = Full(1);
  Add(x, one, x);
  script().ForgetAll();
  // Both runners of the device are busy, so what comes then waits together.
  script().CloseGate();
  std::vector<std::thread> callers;
  for (int runner = 1; runner <= 2; ++runner) {
    callers.emplace_back([this, &one] { Add(one, one, Full(0)); });
    script().WaitForBlocked(runner);
  }
  std::string reason;
  callers.emplace_back([&] { reason = ReasonOfAdd(x, one); });
  callers.emplace_back([&] { Add(y, one, y); });
  EXPECT_TRUE(WaitUntil([this] { return InfoOf(0).pending_requests() == 2; }));
  script().OpenGate();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(reason, "TENSOR_LOST");
  EXPECT_TRUE(Holds(y, 4));
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
}

TEST_F(VolatileTensorsTest, ADeviceWithoutMemoryForAReadMayBeAskedAgain) {
  StartWithGpus();
  const std::string x = Volatile(0);
  Add(x, Full(1), x);
  script().FailReads(1, absl::ResourceExhaustedError("no memory"));
  EXPECT_EQ(ReasonOfRead(x), "OUT_OF_MEMORY");
  EXPECT_TRUE(Holds(x, 1));
}

TEST_F(VolatileTensorsTest, OtherDevicesReadThem) {
  StartWithGpus();
  const std::string x = Volatile(0);
  const std::string one = Full(1);
  Add(x, one, x);
  EXPECT_EQ(Add(x, one, x, v1::DEVICE_PREFERENCE_CPU), cpu_name());
  EXPECT_EQ(Counters().read_results(), 1);
  Add(x, one, x);
  const std::string there = Full(5, "null/1");
  EXPECT_EQ(Add(there, x, there), "null/1");
  EXPECT_TRUE(Holds(there, 8));
}

TEST_F(VolatileTensorsTest, TheyEndAsOthersDo) {
  std::vector<DeviceSource> sources = {gpus_[0]->source()};
  Start({.clock = &clock_, .find_gpus = [sources] { return sources; }});
  ASSERT_TRUE(WaitUntil([this] { return InfoOf(0).state() == v1::DEVICE_STATE_READY; }));
  v1::CreateTensorRequest request = NewVolatile(0);
  request.set_ttl_s(10);
  const std::string x = Create(request).tensor();
  request.set_ttl_s(100);
  const std::string y = Create(request).tensor();
  Add(x, y, x);
  v1::ReadTensorResponse response;
  EXPECT_EQ(ReasonOf(Read(x, response, 0, 0, "another")), "TENSOR_NOT_FOUND");
  const uint64_t kept = InfoOf(0).kept_bytes();
  clock_.Advance(std::chrono::seconds(11));
  EXPECT_EQ(ReasonOfRead(x), "TENSOR_NOT_FOUND");
  EXPECT_EQ(List().bytes(), TensorCharge(kBytes));
  // What the device has is told with its next run.
  Add(y, y, y);
  EXPECT_EQ(InfoOf(0).kept_bytes(), kept);
}

TEST_F(VolatileTensorsTest, TheyAreListed) {
  StartWithGpus();
  Volatile(0);
  Full(0);
  const v1::ListTensorsResponse list = List();
  ASSERT_EQ(list.tensors_size(), 2);
  EXPECT_TRUE(list.tensors(0).is_volatile());
  EXPECT_FALSE(list.tensors(1).is_volatile());
  EXPECT_EQ(list.bytes(), 2 * TensorCharge(kBytes));
}

TEST_F(VolatileTensorsTest, TheyArePlacedOnAGpu) {
  StartWithGpus();
  v1::CreateTensorRequest request = NewVolatile(0);
  request.clear_device();
  const grpc::Status nowhere = Refusal(request);
  EXPECT_EQ(ReasonOf(nowhere), "INVALID_REQUEST");
  EXPECT_THAT(nowhere.error_message(), HasSubstr("A volatile tensor is placed on a GPU"));
  request.set_device(cpu_name());
  EXPECT_EQ(ReasonOf(Refusal(request)), "INVALID_REQUEST");
  request.clear_device();
  request.set_placement(v1::DEVICE_PREFERENCE_GPU);
  EXPECT_TRUE(Refusal(request).ok());
}

TEST_F(VolatileTensorsTest, AServerWithoutGpusRefusesThem) {
  Start();
  v1::CreateTensorRequest request = NewVolatile(0);
  request.clear_device();
  request.set_placement(v1::DEVICE_PREFERENCE_GPU);
  EXPECT_EQ(ReasonOf(Refusal(request)), "DEVICE_UNAVAILABLE");
}

}  // namespace
}  // namespace opserve::testing
