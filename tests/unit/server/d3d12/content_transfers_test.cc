// ContentTransfers: which ranges are uploaded, and which copies are made.

#include "server/d3d12/content_transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/server/d3d12/fake_buffer.h"

namespace opserve::d3d12 {
namespace {

using ::testing::ElementsAre;
using testing::FakeBuffer;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class ContentTransfersTest : public ::testing::Test {
 protected:
  using Transfers = ContentTransfers<FakeBuffer>;

  void Keep(ContentId content, uint64_t bytes) { cache_.Keep(content, cache_.Prepare(bytes)); }

  // The first and last byte of each range, of 1000.
  std::vector<std::pair<uint64_t, uint64_t>> Uploads() const {
    std::vector<std::pair<uint64_t, uint64_t>> uploads;
    for (const ByteRange& range : transfers_.Uploads(1000)) {
      uploads.emplace_back(range.begin, range.end - 1);
    }
    return uploads;
  }

  std::atomic<uint64_t> live_ = 0;
  BufferPool<FakeBuffer> pool_{
      4 * kMinBufferBytes,
      [this](uint64_t bytes) -> absl::StatusOr<FakeBuffer> { return FakeBuffer(bytes, live_); }};
  ContentCache<FakeBuffer> cache_{pool_};
  Transfers transfers_{cache_};
};

TEST_F(ContentTransfersTest, WithoutCopiesAllIsOneUpload) {
  EXPECT_FALSE(transfers_.AddInput(0, 100, 7));
  EXPECT_FALSE(transfers_.AddInput(256, 100, kNoContent));
  EXPECT_THAT(Uploads(), ElementsAre(Pair(0, 999)));
}

// Bytes that are fetched from another place, as another content if they are not the same any more.
class FakeUnreadBytes final : public UnreadBytes {
 public:
  ContentId content() const override { return content_; }
  TensorBytes Fetch() override {
    ++fetches;
    content_ = 9;
    return {bytes_.data(), content_};
  }
  int fetches = 0;

 private:
  std::atomic<ContentId> content_ = 7;
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(100);
};

TEST_F(ContentTransfersTest, UnreadInputsAreFetchedWhereNoCopyIsKept) {
  FakeUnreadBytes unread;
  Keep(7, 100);
  TensorBytes input(unread);
  BringInput(0, 100, input, transfers_);
  EXPECT_TRUE(input.is_absent());
  EXPECT_EQ(unread.fetches, 0);
  EXPECT_THAT(transfers_.kept_inputs(), SizeIs(1));
  cache_.Drop(7);
  // Where copies are not to be read, and where there is none.
  Transfers without(cache_, /*reads_copies=*/false);
  for (Transfers* transfers : {&without, &transfers_}) {
    TensorBytes other(unread);
    BringInput(256, 100, other, *transfers);
    EXPECT_FALSE(other.is_unread());
    EXPECT_NE(other.data(), nullptr);
  }
  EXPECT_EQ(unread.fetches, 2);
  // What is kept from then on is what was fetched.
  ASSERT_THAT(transfers_.new_inputs(), SizeIs(1));
  EXPECT_EQ(transfers_.new_inputs()[0].content, 9u);
  EXPECT_THAT(without.new_inputs(), IsEmpty());
}

TEST_F(ContentTransfersTest, TellsWhichResultsAreKept) {
  transfers_.AddResult(0, 0, 100, {.id = 7});
  transfers_.AddResult(0, 256, 100 * kMinBufferBytes, {.id = 8});
  transfers_.TakeRoom();
  EXPECT_TRUE(transfers_.MayStay(7));
  EXPECT_FALSE(transfers_.MayStay(8));
  EXPECT_FALSE(transfers_.MayStay(9));
}

// One that is volatile, only where its copy is held.
TEST_F(ContentTransfersTest, VolatileResultsMayStayWhereThereIsRoomToHoldThem) {
  const uint64_t half = pool_.budget() / 2;
  transfers_.AddResult(0, 0, half - kMinBufferBytes, {.id = 7, .is_volatile = true});
  transfers_.AddResult(0, half, 2 * kMinBufferBytes, {.id = 8, .is_volatile = true});
  transfers_.TakeRoom();
  EXPECT_TRUE(transfers_.MayStay(7));
  EXPECT_FALSE(transfers_.MayStay(8));
  EXPECT_THAT(transfers_.new_results(), SizeIs(2));
  transfers_.Keep();
  cache_.Drop(7);
  EXPECT_NE(cache_.Find(7, 1), nullptr);
}

TEST_F(ContentTransfersTest, UploadsGoAroundCopies) {
  Keep(7, 100);
  // In no order; the plan is the last.
  EXPECT_FALSE(transfers_.AddInput(512, 50, kNoContent));
  EXPECT_TRUE(transfers_.AddInput(256, 100, 7));
  EXPECT_FALSE(transfers_.AddInput(0, 100, 8));
  EXPECT_FALSE(transfers_.AddInput(128, 100, kNoContent));
  transfers_.AddUpload(768, 32);
  EXPECT_THAT(Uploads(), ElementsAre(Pair(0, 227), Pair(512, 799)));
}

TEST_F(ContentTransfersTest, WhereAllIsKeptNothingIsUploaded) {
  Keep(7, 100);
  Keep(8, 100);
  EXPECT_TRUE(transfers_.AddInput(0, 100, 7));
  EXPECT_TRUE(transfers_.AddInput(256, 100, 8));
  EXPECT_THAT(Uploads(), IsEmpty());
}

TEST_F(ContentTransfersTest, AShortCopyDoesNotServe) {
  Keep(7, 99);
  EXPECT_FALSE(transfers_.AddInput(0, 100, 7));
  EXPECT_THAT(transfers_.new_inputs(), SizeIs(1));
}

TEST_F(ContentTransfersTest, CopiesAreMadeOnceAndKeptInTheEnd) {
  transfers_.AddInput(0, 100, 7);
  transfers_.AddInput(256, 100, 7);
  transfers_.AddResult(0, 0, 100, {.id = 8});
  transfers_.AddResult(0, 100, 100, {});
  transfers_.TakeRoom();
  EXPECT_THAT(transfers_.new_inputs(), SizeIs(1));
  EXPECT_THAT(transfers_.new_results(), SizeIs(1));
  EXPECT_EQ(cache_.Find(7, 100), nullptr);
  transfers_.Keep();
  EXPECT_NE(cache_.Find(7, 100), nullptr);
  EXPECT_NE(cache_.Find(8, 100), nullptr);
}

TEST_F(ContentTransfersTest, NoCopyIsMadeWhereThereIsNoRoom) {
  // Of the one unit that is left, one copy takes more than half.
  const auto lease = pool_.Acquire(3 * kMinBufferBytes);
  constexpr uint64_t kBytes = 40000;
  transfers_.AddInput(0, kBytes, 7);
  transfers_.AddResult(0, 0, kBytes, {.id = 8});
  transfers_.TakeRoom();
  EXPECT_THAT(transfers_.new_inputs(), SizeIs(1));
  EXPECT_THAT(transfers_.new_results(), IsEmpty());
  transfers_.Keep();
  EXPECT_NE(cache_.Find(7, kBytes), nullptr);
  EXPECT_EQ(cache_.Find(8, kBytes), nullptr);
}

TEST_F(ContentTransfersTest, WhatIsReplacedIsNotKept) {
  Keep(6, 100);
  transfers_.AddInput(0, 100, 7);
  transfers_.AddResult(0, 0, 100, {.id = 8, .replaced = 7});
  transfers_.AddResult(0, 256, 100, {.id = 9, .replaced = 6});
  transfers_.TakeRoom();
  EXPECT_THAT(transfers_.new_inputs(), IsEmpty());
  // Until the run has succeeded.
  EXPECT_NE(cache_.Find(6, 100), nullptr);
  transfers_.Keep();
  EXPECT_EQ(cache_.Find(6, 100), nullptr);
  EXPECT_EQ(cache_.bytes(), 2 * kPartAlignment);
}

}  // namespace
}  // namespace opserve::d3d12
