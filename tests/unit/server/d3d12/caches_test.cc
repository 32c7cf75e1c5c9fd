// BufferPool and PipelineCache with makers that count, and the statuses of results.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/pipeline_cache.h"
#include "server/d3d12/runtime/hresult.h"
#include "tests/unit/server/d3d12/fake_buffer.h"

namespace opserve::d3d12 {
namespace {

using testing::FakeBuffer;

class BufferPoolTest : public ::testing::Test {
 protected:
  using Pool = BufferPool<FakeBuffer>;

  std::atomic<uint64_t> live_ = 0;  // bytes
  int made_ = 0;
  bool fails_ = false;
  Pool pool_{uint64_t{100} * kMinBufferBytes, [this](uint64_t bytes) -> absl::StatusOr<FakeBuffer> {
               if (fails_) return absl::ResourceExhaustedError("no memory");
               ++made_;
               return FakeBuffer(bytes, live_);
             }};
};

TEST(SizeClassTest, FitsAndWastesLittle) {
  EXPECT_EQ(SizeClassOf(1), kMinBufferBytes);
  EXPECT_EQ(SizeClassOf(kMinBufferBytes), kMinBufferBytes);
  std::set<uint64_t> classes;
  for (uint64_t bytes = kMinBufferBytes + 1; bytes < uint64_t{1} << 24; bytes += 997) {
    const uint64_t size = SizeClassOf(bytes);
    EXPECT_GE(size, bytes);
    // What the device takes for so many bytes, or a fifth of it wasted.
    const uint64_t units = (bytes + kMinBufferBytes - 1) / kMinBufferBytes;
    EXPECT_LE(size, std::max(units * kMinBufferBytes, bytes * 5 / 4));
    EXPECT_EQ(SizeClassOf(size), size);
    EXPECT_EQ(size % kMinBufferBytes, 0u);
    classes.insert(size);
  }
  EXPECT_LE(classes.size(), 4u * 12 + 1);
}

// 64 KiB, whatever the budget would like.
TEST(SizeClassTest, IsWhatTheDeviceTakes) {
  EXPECT_EQ(SizeClassOf(4096), 65536u);
  EXPECT_EQ(SizeClassOf(65537), 2u * 65536);
  EXPECT_EQ(SizeClassOf(150000), 3u * 65536);
}

TEST_F(BufferPoolTest, BuffersAreUsedAgain) {
  for (int i = 0; i < 10; ++i) {
    auto lease = pool_.Acquire(5000);
    ASSERT_TRUE(lease.ok());
    EXPECT_GE((*lease)->bytes(), 5000u);
  }
  EXPECT_EQ(made_, 1);
}

TEST_F(BufferPoolTest, BuffersOnLoanAreNotShared) {
  auto first = pool_.Acquire(5000);
  auto second = pool_.Acquire(5000);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(pool_.total_bytes(), live_);
}

TEST_F(BufferPoolTest, IdleBuffersMakeRoom) {
  ASSERT_TRUE(pool_.Acquire(70 * kMinBufferBytes).ok());
  ASSERT_TRUE(pool_.Acquire(50 * kMinBufferBytes).ok());
  EXPECT_EQ(made_, 2);
  EXPECT_LE(live_, 100 * kMinBufferBytes);
  EXPECT_EQ(pool_.total_bytes(), live_);
}

// Idle buffers that cannot make room stay for who can use them.
TEST_F(BufferPoolTest, NothingIsDroppedForWhatCannotFitAnyway) {
  const auto lease = pool_.Acquire(64 * kMinBufferBytes);
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(pool_.Acquire(10 * kMinBufferBytes).ok());
  EXPECT_EQ(pool_.Acquire(50 * kMinBufferBytes).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(pool_.total_bytes(), 74 * kMinBufferBytes);
  ASSERT_TRUE(pool_.Acquire(10 * kMinBufferBytes).ok());
  EXPECT_EQ(made_, 2);
}

TEST_F(BufferPoolTest, BudgetIsKept) {
  auto first = pool_.Acquire(60 * kMinBufferBytes);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(pool_.Acquire(60 * kMinBufferBytes).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(pool_.Acquire(101 * kMinBufferBytes).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(pool_.Acquire(20 * kMinBufferBytes).ok());
}

TEST_F(BufferPoolTest, ASmallerBudgetDropsIdleBuffers) {
  auto lease = pool_.Acquire(20 * kMinBufferBytes);
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(pool_.Acquire(40 * kMinBufferBytes).ok());
  pool_.SetBudget(50 * kMinBufferBytes);
  EXPECT_EQ(live_, 20 * kMinBufferBytes);
  EXPECT_EQ(pool_.total_bytes(), live_);
  EXPECT_FALSE(pool_.is_over_budget());
  EXPECT_EQ(pool_.room(), 30 * kMinBufferBytes);
}

// What is in use exceeds the budget until it comes back, and then does not stay.
TEST_F(BufferPoolTest, BuffersOnLoanOutliveTheirBudget) {
  {
    auto lease = pool_.Acquire(20 * kMinBufferBytes);
    ASSERT_TRUE(lease.ok());
    pool_.SetBudget(10 * kMinBufferBytes);
    EXPECT_TRUE(pool_.is_over_budget());
    EXPECT_EQ(pool_.room(), 0u);
    EXPECT_EQ(pool_.Acquire(1).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(live_, 0u);
  EXPECT_EQ(pool_.total_bytes(), 0u);
  EXPECT_TRUE(pool_.Acquire(10 * kMinBufferBytes).ok());
}

TEST_F(BufferPoolTest, ALargerBudgetHasMoreRoom) {
  pool_.SetBudget(200 * kMinBufferBytes);
  EXPECT_EQ(pool_.budget(), 200 * kMinBufferBytes);
  EXPECT_TRUE(pool_.Acquire(160 * kMinBufferBytes).ok());
}

TEST_F(BufferPoolTest, FailureCostsNothing) {
  fails_ = true;
  EXPECT_EQ(pool_.Acquire(5000).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(pool_.total_bytes(), 0u);
  fails_ = false;
  EXPECT_TRUE(pool_.Acquire(5000).ok());
}

// Memory of other sizes is of no use while the device has none.
TEST_F(BufferPoolTest, AShortageFreesIdleBuffers) {
  ASSERT_TRUE(pool_.Acquire(5000).ok());
  EXPECT_GT(live_, 0u);
  fails_ = true;
  EXPECT_FALSE(pool_.Acquire(4 * kMinBufferBytes).ok());
  EXPECT_EQ(live_, 0u);
  EXPECT_EQ(pool_.total_bytes(), 0u);
}

TEST_F(BufferPoolTest, RoomIsWhatIsNotOnLoan) {
  EXPECT_EQ(pool_.room(), 100 * kMinBufferBytes);
  const auto lease = pool_.Acquire(10 * kMinBufferBytes);
  ASSERT_TRUE(pool_.Acquire(20 * kMinBufferBytes).ok());
  EXPECT_EQ(pool_.room(), 90 * kMinBufferBytes);
}

TEST(PipelineCacheTest, EachIsMadeOnce) {
  int made = 0;
  PipelineCache<int, std::string> cache([&made](int key) -> absl::StatusOr<std::string> {
    ++made;
    return std::to_string(key);
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*cache.Get(7), "7");
    EXPECT_EQ(*cache.Get(8), "8");
  }
  EXPECT_EQ(made, 2);
}

TEST(PipelineCacheTest, FailuresAreKept) {
  int made = 0;
  PipelineCache<int, std::string> cache([&made](int) -> absl::StatusOr<std::string> {
    ++made;
    return absl::InternalError("bad shader");
  });
  EXPECT_EQ(cache.Get(7).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(cache.Get(7).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(made, 1);
}

TEST(PipelineCacheTest, ShortageIsNotKept) {
  int calls = 0;
  PipelineCache<int, int> cache([&calls](const int& key) -> absl::StatusOr<int> {
    if (++calls == 1) return absl::ResourceExhaustedError("no memory");
    return key;
  });
  EXPECT_EQ(cache.Get(7).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(cache.Get(7).value(), 7);
}

TEST(HresultTest, ResultsBecomeStatuses) {
  EXPECT_TRUE(OPSERVE_HRESULT(0).ok());
  EXPECT_TRUE(OPSERVE_HRESULT(1).ok());  // S_FALSE
  for (uint32_t lost : {0x887A0005u, 0x887A0006u, 0x887A0007u, 0x887A0020u}) {
    EXPECT_EQ(OPSERVE_HRESULT(lost).code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(OPSERVE_HRESULT(0x8007000E).code(), absl::StatusCode::kResourceExhausted);
  const absl::Status other = OPSERVE_HRESULT(0x80004005);
  EXPECT_EQ(other.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(other.message(), "0x80004005 failed: E_FAIL (0x80004005).");
  EXPECT_EQ(OPSERVE_HRESULT(0x80001234).message(), "0x80001234 failed: 0x80001234.");
}

class FailEverything final : public FaultInjector {
 public:
  std::optional<int32_t> Fail(absl::string_view) override {
    return static_cast<int32_t>(0x887A0005);
  }
};

TEST(HresultTest, InjectedFaultReplacesTheCall) {
  int calls = 0;
  const auto call = [&calls] { return ++calls * 0; };
  {
    FailEverything faults;
    ScopedFaultInjector injector(faults);
    EXPECT_EQ(OPSERVE_HRESULT(call()).code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(OPSERVE_HRESULT(call()).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace opserve::d3d12
