// Sequences in the pool: they run alone, on one device, and are moved, verified and repaired as
// single calls are.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/device/cpu/cpu_device.h"
#include "server/errors/queue_errors.h"
#include "server/pool/cost_model.h"
#include "server/pool/device_slot.h"
#include "server/pool/verify/recomputation.h"
#include "tests/testing/sequence_builder.h"
#include "tests/unit/server/pool/fixture.h"

namespace opserve::testing {
namespace {

constexpr uint32_t kCount = 1000;

// Two outputs: a transposed rounding, and a choice by infinities.
std::shared_ptr<const SequenceInvocation> MakeSequence() {
  SequenceBuilder builder;
  const TensorSource x = builder.Input({DataType::kFloat32, {10, kCount / 10}});
  const TensorSource rounded = builder.Round(x);
  const TensorSource is_infinite = builder.IsInfinity(x);
  const TensorSource chosen = builder.If(is_infinite, rounded, x);
  const TensorSource transposed = builder.Step("ELEMENT_WISE_ROUND");
  builder.From(rounded, TestView{{kCount / 10, 10}, {1, kCount / 10}}).Int("RoundingMode", 0);
  builder.Return(transposed).Return(chosen);
  return builder.Validate().sequence;
}

class SequenceJob final : public Job {
 public:
  SequenceJob(Placement placement, bool verify,
              const std::function<void(JobTraits&)>& change = nullptr)
      : sequence_(MakeSequence()), input_(kCount) {
    for (uint32_t i = 0; i < kCount; ++i) input_[i] = static_cast<float>(i) / 3;
    for (auto* buffers : {&actual_, &expected_}) {
      for (size_t i = 0; i < sequence_->outputs.size(); ++i) {
        buffers->emplace_back(sequence_->output_bytes(i), std::byte{0x5A});
      }
    }
    const SequenceCall expected = CallInto(expected_);
    const DeviceCall call = {.sequence = &expected};
    EXPECT_TRUE(CpuDevice(1).Run({&call, 1}).ok());
    JobTraits traits;
    traits.lane = NewSequenceLane();
    traits.sequence = sequence_.get();
    traits.bytes = sequence_->total_bytes;
    traits.client = "client";
    traits.placement = placement;
    traits.verify = verify;
    if (change) change(traits);
    set_traits(std::move(traits));
  }

  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override {
    call_ = CallInto(actual_);
    call_.stop = &is_stopped_;
    return DeviceCall{.sequence = &call_};
  }
  void Answer(const RunRecord& record) override {
    MutexLock lock(mutex_);
    ++ends_;
    record_ = record;
    changed_.notify_all();
  }
  void Charge(Clock::Duration cost) override {
    MutexLock lock(mutex_);
    EXPECT_EQ(ends_, 0);
    charged_ += cost;
  }
  void Refuse(const absl::Status& why) override {
    MutexLock lock(mutex_);
    ++ends_;
    refusal_ = why;
    changed_.notify_all();
  }

  // Waits for the answer, which must be right, by `device` in a batch of its own.
  RunRecord ExpectAnswered(const std::string& device) {
    MutexLock lock(mutex_);
    while (ends_ == 0) changed_.wait(mutex_);
    EXPECT_TRUE(refusal_.ok()) << refusal_;
    EXPECT_EQ(record_.device, device);
    EXPECT_EQ(record_.batch_size, 1u);
    EXPECT_TRUE(actual_ == expected_);
    // The answer tells the cost.
    EXPECT_EQ(charged_, Clock::Duration::zero());
    return record_;
  }

  // As if the client had gone.
  void Stop() { is_stopped_ = true; }

  absl::Status WaitForRefusal() {
    MutexLock lock(mutex_);
    while (ends_ == 0) changed_.wait(mutex_);
    return refusal_;
  }

  // What runs without an answer cost. Once it is answered or refused.
  Clock::Duration charged() const {
    MutexLock lock(mutex_);
    return charged_;
  }

 private:
  SequenceCall CallInto(std::vector<std::vector<std::byte>>& outputs) const {
    SequenceCall call = {.sequence = sequence_.get()};
    call.inputs = {reinterpret_cast<const std::byte*>(input_.data())};
    for (std::vector<std::byte>& output : outputs) call.outputs.push_back(output.data());
    return call;
  }

  const std::shared_ptr<const SequenceInvocation> sequence_;
  std::vector<float> input_;
  std::vector<std::vector<std::byte>> actual_;
  std::vector<std::vector<std::byte>> expected_;
  SequenceCall call_;
  std::atomic<bool> is_stopped_ = false;

  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  int ends_ ABSL_GUARDED_BY(mutex_) = 0;
  RunRecord record_ ABSL_GUARDED_BY(mutex_);
  Clock::Duration charged_ ABSL_GUARDED_BY(mutex_){};
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

class PoolSequenceTest : public PoolTest {
 protected:
  RunRecord ExpectRunsOn(const std::string& device, Placement placement = Placement::kGpu,
                         bool verify = false) {
    SequenceJob job(placement, verify);
    EXPECT_TRUE(pool_->Submit(job));
    return job.ExpectAnswered(device);
  }
};

TEST_F(PoolSequenceTest, RunOnTheDeviceAskedFor) {
  Start();
  EXPECT_EQ(ExpectRunsOn(kCpuName, Placement::kCpu).attempts, 1);
  EXPECT_EQ(ExpectRunsOn(kGpuName).attempts, 1);
  EXPECT_EQ(gpu_status().counters.requests, 1u);
}

TEST_F(PoolSequenceTest, RunAlone) {
  Start();
  // The known-answer test has run some.
  std::map<size_t, uint64_t> runs = gpu_script().runs();
  gpu_script().CloseGate();
  PoolJob first(Placement::kGpu, 1);
  ASSERT_TRUE(pool_->Submit(first));
  gpu_script().WaitForBlocked(1);
  std::vector<std::unique_ptr<SequenceJob>> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.push_back(std::make_unique<SequenceJob>(Placement::kGpu, false));
    ASSERT_TRUE(pool_->Submit(*jobs.back()));
  }
  const auto singles = MakeJobs(4);
  for (const auto& job : singles) ASSERT_TRUE(pool_->Submit(*job));
  gpu_script().OpenGate();
  for (const auto& job : jobs) job->ExpectAnswered(kGpuName);
  for (const auto& job : singles) ExpectAnswered(*job, kGpuName);
  ExpectAnswered(first, kGpuName);
  runs[1] += 4;
  runs[4] += 1;
  EXPECT_EQ(gpu_script().runs(), runs);
}

// Of calls of few bytes nothing else needs to be known where the processor is the only device.
TEST_F(PoolSequenceTest, CallsOfFewBytesTellHowLongSequencesTake) {
  PoolOptions options = ManualOptions();
  options.inline_bytes = 1 << 20;
  Start(options, /*gpus=*/0);
  std::thread::id ran_in;
  cpu_->OnRun([&](auto) {
    ran_in = std::this_thread::get_id();
    clock_.Advance(std::chrono::milliseconds(1));
  });
  const auto runs_here = [&] {
    SequenceJob job(Placement::kAuto, false, [](JobTraits& traits) { traits.bytes = 64 << 10; });
    EXPECT_TRUE(pool_->Submit(job));
    job.ExpectAnswered(kCpuName);
    return ran_in == std::this_thread::get_id();
  };
  EXPECT_TRUE(runs_here());
  PoolJob call(Placement::kAuto, 1);
  ASSERT_TRUE(pool_->Submit(call));
  ExpectAnswered(call, kCpuName);
  EXPECT_FALSE(runs_here());
}

TEST_F(PoolSequenceTest, TheProcessorRunsWhatADeviceCannot) {
  gpu_->PrepareScripts([](NullScript& script) { script.UnsupportSequences(); });
  Start();
  EXPECT_EQ(ExpectRunsOn(kCpuName).attempts, 2);
  EXPECT_EQ(gpu_status().counters.faults, 0u);
  EXPECT_EQ(gpu_status().counters.moved, 1u);
  EXPECT_EQ(gpu_status().state, DeviceState::kReady);
}

TEST_F(PoolSequenceTest, EveryStepNeedsAKernel) {
  gpu_->PrepareScripts(
      [](NullScript& script) { script.Unsupport(OpId::ELEMENT_WISE_IF, DataType::kFloat32); });
  Start();
  const uint64_t runs = gpu_script().run_count();
  EXPECT_EQ(ExpectRunsOn(kCpuName).attempts, 1);
  EXPECT_EQ(gpu_script().run_count(), runs);
}

TEST_F(PoolSequenceTest, ALostDevicesSequencesRunOnAnother) {
  Start(ManualOptions(), 2);
  gpu_script().LoseAtRun(1);
  EXPECT_EQ(ExpectRunsOn(kSecondGpuName).attempts, 2);
}

TEST_F(PoolSequenceTest, VerificationLooksAtEveryOutput) {
  for (const int output : {1, 2}) {
    Start();
    gpu_script().CorruptResult(output);
    // The corrupt result shows that verification is not a formality.
    const RunRecord record = ExpectRunsOn(kCpuName, Placement::kGpu, /*verify=*/true);
    EXPECT_TRUE(record.is_verified);
    EXPECT_EQ(gpu_status().counters.verified, 1u);
    EXPECT_EQ(gpu_status().counters.mismatches, 1u);
    pool_.reset();
  }
}

TEST_F(PoolSequenceTest, WhatNobodyWaitsForIsNotComputedAndNoFault) {
  Start();
  for (const Placement placement : {Placement::kCpu, Placement::kGpu}) {
    SequenceJob job(placement, /*verify=*/true);
    job.Stop();
    ASSERT_TRUE(pool_->Submit(job));
    EXPECT_EQ(job.WaitForRefusal(), StoppedError());
  }
  for (const DeviceStatus& device : pool_->Status()) EXPECT_EQ(device.counters.faults, 0u);
}

TEST_F(PoolSequenceTest, WhatIsStoppedCostsTheTimeThatItRan) {
  Start();
  constexpr std::chrono::milliseconds kRun{7};
  for (const Placement placement : {Placement::kCpu, Placement::kGpu}) {
    SequenceJob job(placement, /*verify=*/false);
    (placement == Placement::kCpu ? *cpu_ : gpu_script()).OnRun([&](auto) {
      clock_.Advance(kRun);
      job.Stop();
    });
    ASSERT_TRUE(pool_->Submit(job));
    EXPECT_EQ(job.WaitForRefusal(), StoppedError());
    EXPECT_EQ(job.charged(), kRun);
  }
}

// What a device has failed to do is not the client's to pay.
TEST_F(PoolSequenceTest, WhatIsStoppedAfterAFailureCostsTheLastRun) {
  Start();
  constexpr std::chrono::milliseconds kRun{7};
  SequenceJob job(Placement::kGpu, /*verify=*/false);
  gpu_script().OnRun([&](auto) { clock_.Advance(std::chrono::hours(1)); });
  gpu_script().LoseAtRun(1);
  cpu_->OnRun([&](auto) {
    clock_.Advance(kRun);
    job.Stop();
  });
  ASSERT_TRUE(pool_->Submit(job));
  EXPECT_EQ(job.WaitForRefusal(), StoppedError());
  EXPECT_EQ(job.charged(), kRun);
}

// A tensor that others read may have the result.
TEST(SequenceRecomputationTest, IsNotStopped) {
  const auto sequence = MakeSequence();
  const std::vector<float> input(kCount, 1.5f);
  std::vector<std::vector<std::byte>> outputs;
  SequenceCall call = {.sequence = sequence.get(),
                       .inputs = {reinterpret_cast<const std::byte*>(input.data())}};
  for (size_t i = 0; i < sequence->outputs.size(); ++i) {
    outputs.emplace_back(sequence->output_bytes(i));
    call.outputs.push_back(outputs.back().data());
  }
  const std::atomic<bool> stop = true;
  call.stop = &stop;
  Recomputation recomputed({.sequence = &call});
  CpuDevice processor(1);
  EXPECT_TRUE(recomputed.Run(processor).ok());
  EXPECT_TRUE(recomputed.Repair().has_value());
}

TEST_F(PoolSequenceTest, RightResultsPassVerification) {
  Start();
  EXPECT_TRUE(ExpectRunsOn(kGpuName, Placement::kGpu, /*verify=*/true).is_verified);
  EXPECT_EQ(gpu_status().counters.mismatches, 0u);
}

TEST_F(PoolSequenceTest, ComputedNansAreAClassAlsoWhereTheyAreMoved) {
  const uint32_t quiet = 0x7FC00000;
  const uint32_t other = 0xFFC00005;
  const auto* const a = reinterpret_cast<const std::byte*>(&quiet);
  const auto* const b = reinterpret_cast<const std::byte*>(&other);
  for (const bool is_computed : {true, false}) {
    SequenceBuilder builder;
    const TensorSource x = builder.Input({DataType::kFloat32, {1}});
    const TensorSource condition = builder.Input({DataType::kUint8, {1}});
    builder.If(condition, is_computed ? builder.Round(x) : x, x);
    const auto sequence = builder.Validate().sequence;
    ASSERT_NE(sequence, nullptr);
    EXPECT_EQ(FirstDifference(*sequence, sequence->outputs[0], a, b).has_value(), !is_computed);
    EXPECT_FALSE(FirstDifference(*sequence, sequence->outputs[0], a, a).has_value());
  }
}

// Until one has run, a sequence is expected to take as long as its steps, each with its own ends.
TEST(SequenceCostTest, StepsTellWhatToExpect) {
  const auto sequence = MakeSequence();
  Logger logger(LogFormat::kText, LogLevel::kOff);
  SimulatedClock clock;
  const DeviceSlot::Shared shared = {clock, logger, {}};
  DeviceSlot slot({NullProfile("null", false), nullptr}, {}, {}, shared);
  JobTraits traits;
  traits.lane = NewSequenceLane();
  traits.sequence = sequence.get();
  traits.bytes = sequence->total_bytes;
  EXPECT_FALSE(slot.EstimateOf(traits).has_value());
  for (uint32_t s = 0; s < sequence->steps.size(); ++s) {
    slot.costs().Observe(LaneKeyOf(sequence->call(s)), 1000, std::chrono::microseconds(5));
  }
  EXPECT_EQ(slot.EstimateOf(traits), std::chrono::microseconds(20));
  // One call's ends, and half a microsecond for each further step.
  slot.LearnTimeOf(traits, traits.bytes, std::chrono::nanoseconds(6500));
  EXPECT_EQ(slot.EstimateOf(traits), std::chrono::nanoseconds(6500));
  EXPECT_EQ(slot.KnownTimeOf(traits, traits.bytes), std::chrono::nanoseconds(6500));
}

}  // namespace
}  // namespace opserve::testing
