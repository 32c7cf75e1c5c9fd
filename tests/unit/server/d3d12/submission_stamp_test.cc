#include "server/d3d12/submission_stamp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <vector>

namespace opserve::d3d12 {
namespace {

// A submission whose memories have `upload_bytes` and `readback_bytes` bytes beside the stamp, all
// with old content.
class StampedMemory {
 public:
  StampedMemory(uint64_t number, uint64_t upload_bytes, uint64_t readback_bytes)
      : stamp_(number, upload_bytes, readback_bytes),
        upload_(stamp_.upload_bytes(), std::byte{0x5A}),
        readback_(stamp_.readback_bytes(), std::byte{0x5A}) {
    stamp_.Prepare(upload_.data(), readback_.data());
  }

  // What the end of a command list does.
  void CopyStamp() {
    std::copy_n(upload_.begin() + static_cast<ptrdiff_t>(stamp_.upload_offset()),
                SubmissionStamp::kBytes,
                readback_.begin() + static_cast<ptrdiff_t>(stamp_.readback_offset()));
  }
  bool HasArrived() const { return stamp_.HasArrived(readback_.data()); }

  const SubmissionStamp stamp_;
  std::vector<std::byte> upload_;
  std::vector<std::byte> readback_;
};

TEST(SubmissionStampTest, ArrivesOnceItIsCopied) {
  for (const uint64_t bytes : {1u, 7u, 8u, 9u, 4096u}) {
    StampedMemory memory(77, bytes, bytes + 3);
    EXPECT_FALSE(memory.HasArrived());
    memory.CopyStamp();
    EXPECT_TRUE(memory.HasArrived());
  }
}

TEST(SubmissionStampTest, LiesBehindEverythingElse) {
  for (const uint64_t bytes : {1u, 7u, 8u, 9u, 4096u}) {
    StampedMemory memory(77, bytes, bytes + 3);
    EXPECT_GE(memory.stamp_.upload_offset(), bytes);
    EXPECT_GE(memory.stamp_.readback_offset(), bytes + 3);
    EXPECT_EQ(memory.stamp_.upload_offset() % 4, 0u);
    EXPECT_EQ(memory.stamp_.readback_offset() % 4, 0u);
    memory.CopyStamp();
    const auto is_old = [](std::byte byte) { return byte == std::byte{0x5A}; };
    EXPECT_TRUE(std::all_of(memory.upload_.begin(),
                            memory.upload_.begin() + static_cast<ptrdiff_t>(bytes), is_old));
    EXPECT_TRUE(std::all_of(memory.readback_.begin(),
                            memory.readback_.begin() + static_cast<ptrdiff_t>(bytes + 3), is_old));
  }
}

// What an earlier submission left in the same place is not this one's.
TEST(SubmissionStampTest, OldStampsDoNotCount) {
  StampedMemory memory(77, 16, 16);
  memory.CopyStamp();
  const SubmissionStamp next(78, 16, 16);
  EXPECT_FALSE(next.HasArrived(memory.readback_.data()));
  next.Prepare(memory.upload_.data(), memory.readback_.data());
  EXPECT_FALSE(next.HasArrived(memory.readback_.data()));
  EXPECT_FALSE(memory.HasArrived());
}

// Cleared memory is no stamp of a submission that has none.
TEST(SubmissionStampTest, NoStampNeverArrives) {
  const std::vector<std::byte> zeros(SubmissionStamp().readback_bytes());
  EXPECT_FALSE(SubmissionStamp().HasArrived(zeros.data()));
}

// The mark counts where it was copied to, and only that of this submission.
TEST(SubmissionStampTest, IsMarkedByItsOwnMarkAlone) {
  StampedMemory memory(77, 16, 18);
  const SubmissionStamp& stamp = memory.stamp_;
  EXPECT_GE(stamp.mark_offset(), stamp.readback_offset() + SubmissionStamp::kBytes);
  EXPECT_FALSE(stamp.IsMarked(memory.readback_.data()));
  for (const uint32_t word : {76u, 77u}) {
    std::memcpy(memory.readback_.data() + stamp.mark_offset(), &word, sizeof(word));
    EXPECT_EQ(stamp.IsMarked(memory.readback_.data()), word == 77u);
  }
  memory.CopyStamp();
  EXPECT_TRUE(memory.HasArrived());
  EXPECT_FALSE(SubmissionStamp(78, 16, 18).IsMarked(memory.readback_.data()));
}

// Cleared memory is no mark of a submission that has none.
TEST(SubmissionStampTest, NoStampIsNeverMarked) {
  const std::vector<std::byte> zeros(SubmissionStamp().readback_bytes());
  EXPECT_FALSE(SubmissionStamp().IsMarked(zeros.data()));
}

// Nor is the low half, which is the mark.
TEST(StampNumbersTest, NoneIsZero) {
  StampNumbers numbers(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(numbers.Next(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(numbers.Next(), 1u);
  StampNumbers halves(std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(halves.Next(), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(halves.Next(), (uint64_t{1} << 32) + 1);
}

TEST(StampNumbersTest, BeginAtRandom) { EXPECT_NE(StampNumbers().Next(), StampNumbers().Next()); }

TEST(StampNumbersTest, ThreadsGetDifferentOnes) {
  StampNumbers numbers;
  std::vector<std::vector<uint64_t>> taken(4);
  std::vector<std::thread> threads;
  for (std::vector<uint64_t>& mine : taken) {
    threads.emplace_back([&numbers, &mine] {
      for (int i = 0; i < 1000; ++i) mine.push_back(numbers.Next());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const std::vector<uint64_t>& mine : taken) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000u);
}

}  // namespace
}  // namespace opserve::d3d12
