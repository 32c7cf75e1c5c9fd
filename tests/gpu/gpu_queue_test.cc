// Queues whose submissions never seem to end, or that lack memory: nothing that the device may
// still use is given up.

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "server/d3d12/copy_queues.h"
#include "server/d3d12/device.h"
#include "server/d3d12/queue.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"
#include "tests/testing/memory_shortage.h"

namespace opserve::testing {
namespace {

class GpuQueueTest : public GpuTest {};

// Of as many as may be under way the oldest is waited for, again and again: in vain it is neither
// freed nor replaced by one more.
TEST_F(GpuQueueTest, ACommandListThatDoesNotEndIsKept) {
  const auto device = d3d12::Device::Create(*TestRuntime(), 0);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto queue = d3d12::Queue::Create(**device);
  ASSERT_TRUE(queue.ok()) << queue.status();
  FailingCall ends("->Signal(", 0);
  d3d12::ScopedFaultInjector injector(ends);
  const auto submit = [&] { return (*queue)->Submit([](auto&) {}, kSoon).status(); };
  absl::Status status;
  while (status.ok() && ends.failures < 1000) status = submit();
  const int under_way = ends.failures;
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(submit().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ends.failures, under_way);
  EXPECT_TRUE((*device)->WaitUntilIdle());
}

// Leaves this thread no memory once it has submitted a list.
class NoMemoryAfterSubmission final : public d3d12::FaultInjector {
 public:
  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find("->Signal(") != absl::string_view::npos) shortage_.emplace(0);
    return std::nullopt;
  }

 private:
  std::optional<ScopedShortage> shortage_;
};

TEST_F(GpuQueueTest, WhatIsSubmittedNeedsNoMoreMemory) {
  const auto device = d3d12::Device::Create(*TestRuntime(), 0);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto queue = d3d12::Queue::Create(**device);
  ASSERT_TRUE(queue.ok()) << queue.status();
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<d3d12::Serial> submitted;
    {
      NoMemoryAfterSubmission fault;
      d3d12::ScopedFaultInjector injector(fault);
      submitted = (*queue)->Submit([](auto&) {}, kSoon);
    }
    ASSERT_TRUE(submitted.ok()) << submitted.status();
    EXPECT_TRUE((*queue)->timeline().Wait(*submitted, kNever).ok());
  }
}

// Has no memory for one of the lists that are written. Counts what is submitted.
class NoMemoryForAList final : public d3d12::FaultInjector {
 public:
  explicit NoMemoryForAList(int number) : left_(number) {}

  std::optional<int32_t> Fail(absl::string_view call) override {
    if (call.find("ExecuteCommandLists") != absl::string_view::npos) ++submitted_;
    if (call.find("list->Reset") == absl::string_view::npos) return std::nullopt;
    if (left_-- == 0) throw std::bad_alloc();
    return std::nullopt;
  }

  int submitted() const { return submitted_; }

 private:
  int left_;
  int submitted_ = 0;
};

TEST_F(GpuQueueTest, WhereAListCannotBeWrittenNoneIsSubmitted) {
  const auto device = d3d12::Device::Create(*TestRuntime(), 0);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto kernels = d3d12::Queue::Create(**device);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  const auto queues = d3d12::CopyQueues::Create(**device, **kernels);
  ASSERT_TRUE(queues.ok()) << queues.status();
  const auto nothing = [](ID3D12GraphicsCommandList&) {};
  const auto submit = [&] { return (*queues)->Submit({nothing, nothing, nothing}, kSoon); };
  for (int number = 0; number < 3; ++number) {
    NoMemoryForAList fault(number);
    d3d12::ScopedFaultInjector injector(fault);
    EXPECT_THROW(submit().IgnoreError(), std::bad_alloc);
    EXPECT_EQ(fault.submitted(), 0) << number;
  }
  const absl::StatusOr<d3d12::Serial> submitted = submit();
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_TRUE((*queues)->down().timeline().Wait(*submitted, kNever).ok());
}

}  // namespace
}  // namespace opserve::testing
