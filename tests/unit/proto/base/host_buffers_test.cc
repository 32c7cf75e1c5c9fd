#include "proto/base/host_buffers.h"

#include <cstring>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

TEST(HostBuffersTest, SizesWasteLittleAndCoverWhatIsAskedFor) {
  uint64_t last = 0;
  for (uint64_t bytes = 0; bytes < 20000; ++bytes) {
    const uint64_t size = HostBufferSizeOf(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_GE(size, last);
    if (bytes > kMinHostBufferBytes) {
      ASSERT_LE(size, bytes + bytes / 4);
    }
    ASSERT_EQ(HostBufferSizeOf(size), size);
    last = size;
  }
  EXPECT_EQ(HostBufferSizeOf(uint64_t{64} << 20), uint64_t{64} << 20);
}

TEST(HostBuffersTest, BuffersAreAlignedAndWhole) {
  HostBufferPool pool(0);
  for (const uint64_t bytes : {0, 1, 255, 257, 4096, 100001}) {
    const HostBuffer buffer = pool.Take(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kHostBufferAlignment, 0u);
    ASSERT_GE(buffer.size(), bytes);
    std::memset(buffer.data(), 0xA5, buffer.size());
  }
}

TEST(HostBuffersTest, GivesOutTheBufferOfItsSizeThatWasUsedLast) {
  HostBufferPool pool(1 << 20);
  HostBuffer first = pool.Take(1000);
  HostBuffer second = pool.Take(1000);
  HostBuffer other = pool.Take(5000);
  const std::byte* const first_data = first.data();
  const std::byte* const second_data = second.data();
  const uint64_t size = first.size();
  { const HostBuffer back = std::move(first); }
  { const HostBuffer back = std::move(second); }
  { const HostBuffer back = std::move(other); }
  EXPECT_EQ(pool.idle_bytes(), 2 * size + HostBufferSizeOf(5000));
  const HostBuffer again = pool.Take(1001);
  const HostBuffer once_more = pool.Take(999);
  EXPECT_EQ(again.data(), second_data);
  EXPECT_EQ(once_more.data(), first_data);
  EXPECT_EQ(pool.idle_bytes(), HostBufferSizeOf(5000));
}

TEST(HostBuffersTest, FreesWhatWasIdleForLongestBeyondTheBudget) {
  HostBufferPool pool(3 * 4096);
  std::vector<HostBuffer> small;
  for (int i = 0; i < 3; ++i) small.push_back(pool.Take(4096));
  const std::byte* const newest = small[2].data();
  for (HostBuffer& buffer : small) const HostBuffer back = std::move(buffer);
  EXPECT_EQ(pool.idle_bytes(), 3u * 4096);
  { const HostBuffer large = pool.Take(8192); }
  EXPECT_EQ(pool.idle_bytes(), 4096u + 8192);
  EXPECT_EQ(pool.Take(4096).data(), newest);
  // What alone exceeds the budget drives nothing out.
  { const HostBuffer huge = pool.Take(4 * 4096); }
  EXPECT_EQ(pool.idle_bytes(), 4096u + 8192);
}

TEST(HostBuffersTest, KeepsNothingWithoutABudget) {
  HostBufferPool pool(0);
  { const HostBuffer buffer = pool.Take(1); }
  EXPECT_EQ(pool.idle_bytes(), 0u);
}

TEST(HostBuffersTest, ThrowsWhereThereIsNoSuchMemory) {
  HostBufferPool pool(1 << 20);
  EXPECT_THROW(pool.Take(~uint64_t{0}), std::bad_alloc);
  EXPECT_THROW(pool.Take((uint64_t{1} << 62) + 1), std::bad_alloc);
  EXPECT_EQ(pool.idle_bytes(), 0u);
}

TEST(HostBuffersTest, BuffersMayOutliveThePool) {
  HostBuffer buffer;
  {
    HostBufferPool pool(1 << 20);
    buffer = pool.Take(5000);
    { const HostBuffer idle = pool.Take(5000); }
  }
  std::memset(buffer.data(), 1, buffer.size());
}

// Each thread marks what it holds; a buffer given out twice would show another's mark.
TEST(HostBuffersTest, ThreadsNeverShareABuffer) {
  HostBufferPool pool(8 * 4096);
  std::vector<std::thread> threads;
  for (int mark = 1; mark <= 4; ++mark) {
    threads.emplace_back([&pool, mark] {
      for (uint64_t i = 0; i < 2000; ++i) {
        const HostBuffer buffer = pool.Take(1024 << (i % 4));
        std::memset(buffer.data(), mark, 1024);
        std::this_thread::yield();
        for (int b = 0; b < 1024; ++b) ASSERT_EQ(buffer.data()[b], static_cast<std::byte>(mark));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(pool.idle_bytes(), 8u * 4096);
}

}  // namespace
}  // namespace opserve::testing
