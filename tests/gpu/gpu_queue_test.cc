// A queue whose submissions never seem to end: nothing that the device may still use is given up.

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "server/d3d12/device.h"
#include "server/d3d12/queue.h"
#include "tests/gpu/examples.h"
#include "tests/gpu/test_device.h"

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

}  // namespace
}  // namespace opserve::testing
