// Results that a GPU keeps and hands over when they are read: whatever becomes of the GPU, of its
// copies and of the inputs, whoever reads them gets the right bytes.

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "server/resident/tensor_quota.h"
#include "tests/integration/sequence_requests.h"
#include "tests/integration/unread_fixture.h"

namespace opserve::testing {
namespace {

TEST_F(UnreadResultsTest, NothingIsReadBackBeforeItIsRead) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  for (int step = 0; step < 8; ++step) EXPECT_EQ(Add(x, one, x), "null/0");
  EXPECT_EQ(Counters().kept_results(), 8);
  EXPECT_EQ(Counters().read_results(), 0);
  for (int read = 0; read < 2; ++read) {
    EXPECT_TRUE(Holds(x, 8));
    EXPECT_EQ(Counters().read_results(), 1);
  }
  EXPECT_EQ(Counters().recomputed_results(), 0);
  // The chain goes on from the same copy.
  const uint64_t uploaded = Counters().uploaded_bytes();
  Add(x, one, x);
  EXPECT_EQ(Counters().uploaded_bytes(), uploaded);
  EXPECT_TRUE(Holds(x, 9));
}

TEST_F(UnreadResultsTest, PartsAreRead) {
  StartWithGpus();
  const std::string x = Full(0);
  Add(x, Full(1), x);
  v1::ReadTensorResponse response;
  ASSERT_TRUE(Read(x, response, 4, 8).ok());
  EXPECT_EQ(ValuesOf<float>(response.payload()), (Floats{1, 1}));
}

TEST_F(UnreadResultsTest, TheProcessorReadsThem) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  Add(x, one, x);
  EXPECT_EQ(Add(x, one, x, v1::DEVICE_PREFERENCE_CPU), cpu_name());
  EXPECT_EQ(Counters().read_results(), 1);
  EXPECT_TRUE(Holds(x, 2));
}

TEST_F(UnreadResultsTest, OtherDevicesReadThem) {
  StartWithGpus();
  const std::string x = Full(0);
  Add(x, Full(1), x);
  const std::string there = Full(5, "null/1");
  EXPECT_EQ(Add(there, x, there), "null/1");
  EXPECT_EQ(Counters(0).read_results(), 1);
  EXPECT_TRUE(Holds(there, 6));
  // It depended on an input that is on another device, from where it would have to come again.
  EXPECT_EQ(Counters(1).kept_results(), 0);
}

TEST_F(UnreadResultsTest, SequencesReadThem) {
  StartWithGpus();
  const std::string x = Full(0.25f);
  Add(x, Full(1), x);
  v1::ExecuteSequenceRequest request;
  AddSequenceInput(request, v1::DATA_TYPE_FLOAT32, {kCount}, "");
  request.clear_payloads();
  *request.add_input_places() = InTensor(x);
  AddRound(request, SequenceInput(0));
  request.add_outputs();
  for (const bool verify : {false, true}) {
    request.set_verify(verify);
    v1::ExecuteSequenceResponse response;
    const grpc::Status status = Call(&Stub::ExecuteSequence, request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(ValuesOf<float>(response.payloads(0)), Floats(kCount, 1));
  }
}

// The old value of an input is what its result was computed from.
TEST_F(UnreadResultsTest, InputsMayBeOverwritten) {
  StartWithGpus();
  const std::string x = Full(3);
  const std::string sum = Full(0);
  Add(x, Full(1), sum);
  EXPECT_TRUE(Write(x, 0, BytesOf(Floats{7})).ok());
  script().ForgetAll();
  EXPECT_TRUE(Holds(sum, 4));
  EXPECT_EQ(Counters().recomputed_results(), 1);
  EXPECT_EQ(Values(x)[0], 7);
  EXPECT_EQ(Values(x)[1], 3);
}

TEST_F(UnreadResultsTest, InputsMayBeReleased) {
  StartWithGpus();
  const std::string x = Full(3);
  const std::string one = Full(1);
  const std::string sum = Full(0);
  Add(x, one, sum);
  EXPECT_EQ(Delete(x), 1);
  EXPECT_EQ(Delete(one), 1);
  // They count while they may be needed.
  EXPECT_EQ(List().bytes(), 3 * TensorCharge(kBytes));
  script().ForgetAll();
  EXPECT_TRUE(Holds(sum, 4));
  EXPECT_EQ(List().bytes(), TensorCharge(kBytes));
}

// A write to what is unread needs the rest of it, unless there is none.
TEST_F(UnreadResultsTest, TheyMayBeOverwrittenThemselves) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  Add(x, one, x);
  EXPECT_TRUE(Write(x, 4, BytesOf(Floats{7})).ok());
  EXPECT_EQ(Counters().read_results(), 1);
  Floats expected(kCount, 1);
  expected[1] = 7;
  EXPECT_EQ(Values(x), expected);
  Add(x, one, x);
  EXPECT_TRUE(Write(x, 0, BytesOf(Floats(kCount, 5))).ok());
  EXPECT_EQ(Counters().read_results(), 1);
  EXPECT_TRUE(Holds(x, 5));
}

// Room for the tensors, and for nothing that they held before.
class TightQuotaTest : public UnreadResultsTest {
 protected:
  void SetUp() override {
    UnreadResultsTest::SetUp();
    options_.tensors.max_bytes_per_client = 3 * TensorCharge(kBytes);
    StartWithGpus();
  }
};

TEST_F(TightQuotaTest, ResultsInPlaceAreReadWhereTheirInputsHaveNoRoom) {
  const std::string x = Full(0);
  const std::string one = Full(1);
  const std::string other = Full(2);
  for (int step = 0; step < 8; ++step) Add(x, one, x);
  EXPECT_EQ(List().bytes(), 3 * TensorCharge(kBytes));
  script().ForgetAll();
  EXPECT_TRUE(Holds(x, 8));
}

TEST_F(TightQuotaTest, WritesAndNewTensorsHaveTheRoomThatTheyWouldHave) {
  const std::string x = Full(3);
  const std::string one = Full(1);
  const std::string sum = Full(0);
  Add(x, one, sum);
  // Only what is read stays beside what is written.
  EXPECT_TRUE(Write(x, 0, BytesOf(Floats(kCount, 7))).ok());
  EXPECT_EQ(Counters().read_results(), 1);
  EXPECT_TRUE(Holds(sum, 4));
  EXPECT_TRUE(Holds(x, 7));
  Add(x, one, sum);
  EXPECT_EQ(Delete(x), 1);
  EXPECT_NE(Full(9), "");
  EXPECT_EQ(Counters().read_results(), 2);
  EXPECT_TRUE(Holds(sum, 8));
}

// A result in a tensor that is placed nowhere, while somebody reads what it held.
TEST_F(UnreadResultsTest, ResultsElsewhereHaveTheRoomThatTheyWouldHave) {
  options_.tensors.max_bytes_per_client = 5 * TensorCharge(kBytes);
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  const std::string there = Full(5, "null/1");
  const std::string elsewhere = Create(NewFloats(Floats(kCount, 2))).tensor();
  Add(x, one, x);
  script(1).CloseGate();
  std::thread reader([&] { EXPECT_EQ(Add(there, elsewhere, there), "null/1"); });
  script(1).WaitForBlocked(1);
  EXPECT_EQ(Add(elsewhere, elsewhere, elsewhere, v1::DEVICE_PREFERENCE_CPU), cpu_name());
  EXPECT_EQ(Counters().read_results(), 1);
  script(1).OpenGate();
  reader.join();
  EXPECT_TRUE(Holds(elsewhere, 4));
  EXPECT_TRUE(Holds(there, 7));
  EXPECT_TRUE(Holds(x, 1));
}

TEST_F(UnreadResultsTest, WhatTheDeviceHasForgottenIsComputedAgain) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  const std::string twice = Full(0);
  for (int step = 0; step < 4; ++step) Add(x, one, x);
  Add(x, x, twice);
  script().ForgetAll();
  EXPECT_TRUE(Holds(twice, 8));
  EXPECT_TRUE(Holds(x, 4));
  // Sums of the chain: once for each of both results, and the result itself; x is used twice.
  EXPECT_EQ(Counters().recomputed_results(), 9 + 4);
  // And for a call.
  Add(x, one, x);
  script().ForgetAll();
  EXPECT_EQ(Add(x, one, x), "null/0");
  EXPECT_TRUE(Holds(x, 6));
}

TEST_F(UnreadResultsTest, TheLossOfTheDeviceLosesNone) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  const std::string sum = Full(0);
  for (int step = 0; step < 5; ++step) Add(x, one, x);
  Add(x, one, sum);
  script().LoseAtRun(1);
  // The request that meets the loss needs them, too.
  EXPECT_EQ(Add(x, one, x), cpu_name());
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_LOST);
  EXPECT_TRUE(Holds(x, 6));
  EXPECT_TRUE(Holds(sum, 6));
  EXPECT_EQ(Counters().read_results(), 0);
}

// It is noticed like one in a run.
TEST_F(UnreadResultsTest, TheDeviceMayBeLostInARead) {
  StartWithGpus();
  const std::string x = Full(0);
  Add(x, Full(1), x);
  script().FailReads(1, absl::UnavailableError("lost in a read"));
  EXPECT_TRUE(Holds(x, 1));
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_LOST);
  EXPECT_EQ(Counters().losses(), 1);
}

TEST_F(UnreadResultsTest, AReadMayFail) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  Add(x, one, x);
  script().FailReads(1, absl::ResourceExhaustedError("no memory"));
  EXPECT_TRUE(Holds(x, 1));
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(Counters().recomputed_results(), 1);
  Add(x, one, x);
  EXPECT_TRUE(Holds(x, 2));
}

// What would take more runs than the bound is handed over, and the count begins anew.
TEST_F(UnreadResultsTest, ChainsAreBounded) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  for (int step = 0; step < kMostOriginSteps; ++step) Add(x, one, x);
  EXPECT_EQ(Counters().kept_results(), kMostOriginSteps);
  Add(x, one, x);
  EXPECT_EQ(Counters().kept_results(), kMostOriginSteps);
  for (int step = 0; step < kMostOriginSteps; ++step) Add(x, one, x);
  EXPECT_EQ(Counters().kept_results(), 2 * kMostOriginSteps);
  script().ForgetAll();
  EXPECT_TRUE(Holds(x, 2 * kMostOriginSteps + 1));
  EXPECT_EQ(Counters().recomputed_results(), kMostOriginSteps);
}

TEST_F(UnreadResultsTest, WhatCannotBeComputedAgainIsHandedOver) {
  StartWithGpus();
  const std::string x = Full(0);
  // From bytes that came with the request.
  v1::ExecuteRequest request = AddRequest(x, x, x);
  request.clear_input_places();
  for (int i = 0; i < 2; ++i) {
    request.mutable_inputs(i)->set_data_type(v1::DATA_TYPE_FLOAT32);
    request.mutable_inputs(i)->add_sizes(kCount);
    request.add_payloads(BytesOf(Floats(kCount, 2)));
  }
  ASSERT_TRUE(Execute(request).status.ok());
  // Small ones.
  const std::string small = CreateOn("null/0", {1, 2});
  Add(small, small, small);
  EXPECT_EQ(Counters().kept_results(), 0);
  EXPECT_TRUE(Holds(x, 4));
  EXPECT_EQ(Values(small), (Floats{2, 4}));
}

TEST_F(UnreadResultsTest, ComparedResultsAreHandedOver) {
  options_.pool.verify_rate = 0.5;
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  for (int step = 0; step < 8; ++step) Add(x, one, x);
  EXPECT_EQ(Counters().verified(), 4);
  EXPECT_EQ(Counters().kept_results(), 4);
  // The inputs of those were read.
  EXPECT_EQ(Counters().read_results(), 4);
  EXPECT_EQ(Counters().mismatches(), 0);
  EXPECT_TRUE(Holds(x, 8));
}

// Nothing that such a device keeps is believed, though nobody has looked at it yet.
TEST_F(UnreadResultsTest, ADeviceThatComputesWronglyIsNotAsked) {
  StartWithGpus();
  const std::string x = Full(0);
  const std::string one = Full(1);
  const std::string sum = Full(0);
  script().CorruptResult(1);
  Add(one, one, sum);
  script().CorruptResult(1);
  v1::ExecuteRequest request = AddRequest(x, one, x);
  request.set_verify(true);
  EXPECT_EQ(Execute(request).response.execution().device(), cpu_name());
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_QUARANTINED);
  EXPECT_TRUE(Holds(x, 1));
  EXPECT_TRUE(Holds(sum, 2));
  EXPECT_EQ(Counters().read_results(), 0);
}

// Chains of many clients, of which each sees its own tensors alone, while their GPUs are lost again
// and again, and forget what they keep.
TEST_F(UnreadResultsTest, ChainsOfManyClientsSurviveLosses) {
  options_.pool.health.min_backoff = std::chrono::milliseconds(1);
  options_.pool.health.max_backoff = std::chrono::milliseconds(2);
  options_.pool.verify_rate = 0.05;
  StartAsSet();
  constexpr int kChains = 8;
  constexpr int kSteps = 60;
  std::vector<std::thread> threads;
  for (int client = 0; client < kChains; ++client) {
    threads.emplace_back([this, client] {
      const std::string name = "client " + std::to_string(client);
      const std::string device = client % 2 == 0 ? "null/0" : "null/1";
      const std::string x = CreateOn(device, Floats(kCount, static_cast<float>(client)), name);
      const std::string one = CreateOn(device, Floats(kCount, 1), name);
      for (int step = 1; step <= kSteps; ++step) {
        Add(x, one, x, {}, name);
        if (step % (5 + client) != 0 && step < kSteps) continue;
        v1::ReadTensorResponse response;
        EXPECT_TRUE(Read(x, response, 0, 0, name).ok());
        EXPECT_EQ(ValuesOf<float>(response.payload()),
                  Floats(kCount, static_cast<float>(client + step)))
            << name << ", step " << step;
      }
    });
  }
  for (int loss = 0; loss < 20; ++loss) {
    script(loss % 2).ForgetAll();
    if (loss % 4 == 0) script(loss / 4 % 2).LoseAtRun(3);
    std::this_thread::yield();
    WaitUntil([this, loss] { return InfoOf(loss % 2).state() == v1::DEVICE_STATE_READY; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(Counters(0).kept_results() + Counters(1).kept_results(), 0);
}

}  // namespace
}  // namespace opserve::testing
