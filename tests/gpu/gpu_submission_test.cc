// Submissions that a run time drops while its fence says that they are done, as libvkd3d 1.2 does
// where vkQueueSubmit fails: nobody gets what the memory held before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/base/log.h"
#include "server/d3d12/runtime/hresult.h"
#include "server/pool/device_pool.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/null_device.h"
#include "tests/testing/sequence_builder.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/pool/job.h"

namespace opserve::testing {
namespace {

using d3d12::D3D12Device;
using ::testing::HasSubstr;

using ResultBytes = std::vector<std::byte>;

constexpr std::byte kUnwritten{0x5A};

// Drops the next so many submissions. What comes after them runs, fences included.
class DroppedSubmissions final : public d3d12::FaultInjector {
 public:
  explicit DroppedSubmissions(int count) : left_(count) {}

  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find("ExecuteCommandLists") == absl::string_view::npos) return std::nullopt;
    if (--left_ < 0) return std::nullopt;
    ++dropped_;
    return 0;
  }

  int dropped() const { return dropped_; }

 private:
  std::atomic<int> left_;
  std::atomic<int> dropped_ = 0;
};

class GpuSubmissionTest : public GpuTest {
 protected:
  // A batch of calls like `example`, each with its own output.
  static absl::Status RunOn(D3D12Device& device, const std::vector<Example>& batch,
                            std::vector<ResultBytes>& outputs) {
    std::vector<DeviceCall> calls;
    outputs.clear();
    for (const Example& example : batch) {
      outputs.emplace_back(example.call->output_bytes, kUnwritten);
      DeviceCall call = {.invocation = example.call.get()};
      call.inputs[0] = example.inputs[0].data();
      calls.push_back(call);
    }
    for (size_t i = 0; i < calls.size(); ++i) calls[i].output = outputs[i].data();
    return device.Run(calls);
  }

  // Calls of so many elements each, packed or with strides.
  static std::vector<Example> MakeBatch(const std::vector<uint32_t>& counts, bool is_strided,
                                        uint64_t seed) {
    std::vector<Example> batch;
    for (const uint32_t count : counts) {
      batch.push_back(is_strided ? MakeStridedExample(count, ++seed) : MakeExample(count, ++seed));
    }
    return batch;
  }

  // Runs a batch, then drops the submission of another one, whose results would lie where those of
  // the first are. Nothing of them may come out.
  void ExpectNothingComesOut(const std::vector<uint32_t>& counts, bool is_strided = false) {
    const std::vector<Example> first = MakeBatch(counts, is_strided, 1);
    const std::vector<Example> second = MakeBatch(counts, is_strided, 100);
    const std::unique_ptr<D3D12Device> device = MakeDevice({.staging_bytes = 1 << 16});
    ASSERT_NE(device, nullptr);
    ASSERT_TRUE(RunBatch(*device, first).ok());
    DroppedSubmissions faults(1);
    d3d12::ScopedFaultInjector injector(faults);
    std::vector<ResultBytes> outputs;
    const absl::Status status = RunOn(*device, second, outputs);
    EXPECT_EQ(faults.dropped(), 1);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("its stamp was not copied"));
    for (const ResultBytes& output : outputs) {
      EXPECT_EQ(output, ResultBytes(output.size(), kUnwritten));
    }
    // It is lost, though it would carry out what comes next.
    EXPECT_EQ(RunBatch(*device, second).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(device->status(), status);
  }
};

TEST_F(GpuSubmissionTest, ADroppedBatchReturnsNothing) {
  ExpectNothingComesOut({1000});
  ExpectNothingComesOut({1000, 77, 3});
  ExpectNothingComesOut({500}, /*is_strided=*/true);
}

// Beyond the staging memory, in buffers that are used again.
TEST_F(GpuSubmissionTest, ADroppedLargeBatchReturnsNothing) { ExpectNothingComesOut({100000}); }

TEST_F(GpuSubmissionTest, ADroppedSequenceReturnsNothing) {
  SequenceBuilder builder;
  builder.Round(builder.Round(builder.Input({DataType::kFloat32, {1000}})));
  const std::shared_ptr<const SequenceInvocation> sequence = builder.Validate().sequence;
  ASSERT_NE(sequence, nullptr);
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  const auto run = [&](float value, ResultBytes& output) {
    const std::vector<float> input(1000, value);
    output.assign(sequence->output_bytes(0), kUnwritten);
    SequenceCall call = {.sequence = sequence.get()};
    call.inputs.emplace_back(reinterpret_cast<const std::byte*>(input.data()));
    call.outputs.push_back(output.data());
    const DeviceCall device_call = {.sequence = &call};
    return device->Run({&device_call, 1});
  };
  ResultBytes output;
  ASSERT_TRUE(run(1.25f, output).ok());
  DroppedSubmissions faults(1);
  d3d12::ScopedFaultInjector injector(faults);
  EXPECT_EQ(run(2.25f, output).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(output, ResultBytes(output.size(), kUnwritten));
}

// Drops the first submission, whose end is told all the same, and never tells of the end of a later
// one.
class DroppedAndUntold final : public d3d12::FaultInjector {
 public:
  std::optional<int32_t> Fail(absl::string_view call) override {
    const bool is_list = call.find("ExecuteCommandLists") != absl::string_view::npos;
    const bool is_end = call.find("->Signal(") != absl::string_view::npos;
    if (is_list && ++lists_ == 1) return 0;
    if (is_end && lists_ > 1) return 0;
    return std::nullopt;
  }

 private:
  std::atomic<int> lists_ = 0;
};

// What is found out of a part of a batch is known at once: nobody waits for the next one.
TEST_F(GpuSubmissionTest, ADroppedPartEndsTheWaitForOthers) {
  // One has as many bytes as a part, so the other one is a part of its own.
  const std::vector<Example> batch = MakeBatch({4u << 20, 8}, /*is_strided=*/false, 1);
  const std::unique_ptr<D3D12Device> device =
      MakeDevice({.timeout = std::chrono::seconds(1), .transfers = d3d12::TransferWay::kCopies});
  ASSERT_NE(device, nullptr);
  DroppedAndUntold faults;
  d3d12::ScopedFaultInjector injector(faults);
  std::vector<ResultBytes> outputs;
  const absl::Status status = RunOn(*device, batch, outputs);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("its stamp was not copied"));
}

// What was not copied to the device is not kept there.
TEST_F(GpuSubmissionTest, ADroppedSubmissionKeepsNoCopies) {
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  const Example example = MakeExample(1000, 1);
  ResultBytes output(example.call->output_bytes);
  DeviceCall call = {.invocation = example.call.get()};
  call.inputs[0] = {example.inputs[0].data(), 7};
  call.output = output.data();
  call.content = {.id = 8};
  DroppedSubmissions faults(1);
  d3d12::ScopedFaultInjector injector(faults);
  EXPECT_EQ(device->Run({&call, 1}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(device->transfers().kept_bytes, 0u);
  EXPECT_EQ(device->transfers().uploaded_bytes, 0u);
}

// Where libvkd3d cannot make a view of what a dispatch works on, it dispatches all the same.
TEST_F(GpuSubmissionTest, WhatCannotBeBoundIsNotExecuted) {
  constexpr int32_t kOutOfDeviceMemory = -2;
  const std::unique_ptr<D3D12Device> device = MakeDevice();
  ASSERT_NE(device, nullptr);
  ASSERT_TRUE(RunBatch(*device, MakeBatch({1000, 77}, /*is_strided=*/true, 100)).ok());
  const std::vector<Example> batch = MakeBatch({1000, 77}, /*is_strided=*/true, 1);
  std::vector<ResultBytes> outputs;
  FailingCall fault("vk.BufferView", kOutOfDeviceMemory);
  {
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_EQ(RunOn(*device, batch, outputs).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_GT(fault.failures, 0);
  for (const ResultBytes& output : outputs) {
    EXPECT_EQ(output, ResultBytes(output.size(), kUnwritten));
  }
  // Others may need less.
  EXPECT_TRUE(RunBatch(*device, batch).ok());
}

// Has no memory for what is recorded.
class NoMemoryToRecord final : public d3d12::FaultInjector {
 public:
  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find("list->Reset") != absl::string_view::npos) throw std::bad_alloc();
    return std::nullopt;
  }
};

// So no later one has more time because of it.
TEST_F(GpuSubmissionTest, WhatIsThrownIsNotUnderWay) {
  const std::unique_ptr<D3D12Device> device = MakeDevice({.timeout = kSoon});
  ASSERT_NE(device, nullptr);
  const std::vector<Example> small = MakeBatch({1000}, /*is_strided=*/false, 1);
  ASSERT_TRUE(RunBatch(*device, small).ok());
  {
    // For which a software adapter has long.
    const std::vector<Example> large = MakeBatch({4u << 20}, /*is_strided=*/false, 1);
    NoMemoryToRecord fault;
    d3d12::ScopedFaultInjector injector(fault);
    std::vector<ResultBytes> outputs;
    EXPECT_THROW(RunOn(*device, large, outputs).IgnoreError(), std::bad_alloc);
  }
  FailingCall ends("->Signal(", 0);
  d3d12::ScopedFaultInjector injector(ends);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(RunBatch(*device, small).code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

class GpuSubmissionPoolTest : public GpuSubmissionTest {
 protected:
  // A pool of two devices on the adapter.
  void Start() {
    std::vector<DeviceSource> sources;
    for (const char* name : {"d3d12/first", "d3d12/second"}) {
      DeviceProfile profile = device().profile();
      profile.name = name;
      const auto create = [this, name]() -> absl::StatusOr<std::unique_ptr<ComputeDevice>> {
        std::unique_ptr<D3D12Device> made = MakeDevice({.name = name});
        if (made == nullptr) return absl::UnavailableError("no device");
        return made;
      };
      sources.push_back({.profile = profile, .create = create});
    }
    DeviceProfile cpu = NullProfile("cpu/null", /*is_software=*/false);
    cpu.kind = DeviceKind::kCpu;
    pool_ = std::make_unique<DevicePool>(
        PoolOptions{}, clock_, logger_,
        std::make_unique<NullDevice>(cpu, std::make_shared<NullScript>()),
        [sources] { return sources; });
    pool_->Maintain();
  }

  SimulatedClock clock_;
  Logger logger_{LogFormat::kText, LogLevel::kOff};
  std::unique_ptr<DevicePool> pool_;
};

TEST_F(GpuSubmissionPoolTest, AnotherDeviceAnswers) {
  Start();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PoolJob job(Placement::kGpu, seed);
    ASSERT_TRUE(pool_->Submit(job));
    ASSERT_TRUE(job.Wait().ok());
  }
  DroppedSubmissions faults(1);
  d3d12::ScopedFaultInjector injector(faults);
  PoolJob job(Placement::kGpu, 99);
  ASSERT_TRUE(pool_->Submit(job));
  const absl::Status status = job.Wait();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(job.record().attempts, 2);
  EXPECT_EQ(faults.dropped(), 1);
  std::vector<DeviceStatus> gpus = pool_->Status();
  gpus.erase(gpus.begin());
  ASSERT_EQ(gpus.size(), 2u);
  if (gpus[0].profile.name == job.device()) std::swap(gpus[0], gpus[1]);
  EXPECT_EQ(gpus[1].profile.name, job.device());
  EXPECT_EQ(gpus[1].state, DeviceState::kReady);
  EXPECT_EQ(gpus[0].state, DeviceState::kLost);
  EXPECT_THAT(gpus[0].reason, HasSubstr("its stamp was not copied"));
  EXPECT_EQ(gpus[0].counters.faults, 1u);
  EXPECT_EQ(gpus[0].counters.losses, 1u);
  EXPECT_EQ(gpus[0].counters.moved, 1u);
}

}  // namespace
}  // namespace opserve::testing
