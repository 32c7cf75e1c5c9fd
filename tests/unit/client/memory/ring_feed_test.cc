#include "client/memory/ring_feed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using Progress = MessageFeed::Progress;

// A byte and an int32_t for each element, all different.
class RingFeedTest : public ::testing::Test {
 protected:
  void Make(uint32_t count) {
    bytes_.resize(count);
    numbers_.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      bytes_[i] = static_cast<uint8_t>(i * 7);
      numbers_[i] = static_cast<int32_t>(i);
    }
    inputs_ = {TensorView::Of<uint8_t>(bytes_, {count}),
               TensorView::Of<int32_t>(numbers_, {count})};
  }

  RingLayout Layout() const {
    const auto layout = LayOutRing(inputs_);
    EXPECT_TRUE(layout);
    return layout.value_or(RingLayout());
  }

  std::vector<uint8_t> bytes_;
  std::vector<int32_t> numbers_;
  std::vector<TensorView> inputs_;
};

TEST_F(RingFeedTest, RoomFollowsRoom) {
  Make(10'000'001);
  const RingLayout layout = Layout();
  EXPECT_EQ(layout.element_count, 10'000'001u);
  EXPECT_EQ(layout.run_elements % 1024, 0u);
  EXPECT_LE(layout.run_elements * 5, uint64_t{256} << 10);
  EXPECT_GT((layout.run_elements + 1024) * 5, uint64_t{256} << 10);
  EXPECT_EQ(layout.run_count,
            (layout.element_count + layout.run_elements - 1) / layout.run_elements);
  EXPECT_EQ(layout.runs, 16u);
  ASSERT_EQ(layout.inputs.size(), 2u);
  EXPECT_EQ(layout.inputs[0].place, kRingCounterBytes);
  EXPECT_EQ(layout.inputs[1].place, kRingCounterBytes + layout.runs * layout.run_elements);
  EXPECT_EQ(layout.bytes, layout.inputs[1].place + layout.runs * layout.run_elements * 4);
  Make(5);
  EXPECT_EQ(Layout().runs, 1u);
}

TEST_F(RingFeedTest, InputsOfDifferentLengthsHaveNoRing) {
  Make(5000);
  inputs_[1] = TensorView::Of<int32_t>(numbers_, {4999});
  EXPECT_FALSE(LayOutRing(inputs_));
  EXPECT_FALSE(LayOutRing({}));
}

// The other end takes runs as they come, now one and now all that there is.
TEST_F(RingFeedTest, EveryElementComesInItsTurn) {
  Make(2'000'000);
  const RingLayout layout = Layout();
  ASSERT_GT(layout.run_count, 2 * layout.runs);
  std::vector<std::byte> memory(layout.bytes + kRingAlignment);
  std::byte* const ring =
      memory.data() +
      (kRingAlignment - reinterpret_cast<uintptr_t>(memory.data()) % kRingAlignment);
  RingFeed feed(layout, inputs_, {ring, layout.bytes});
  auto& counters = *reinterpret_cast<RingCounters*>(ring);
  for (int attempt = 0; attempt < 2; ++attempt) {
    feed.Begin();
    EXPECT_EQ(counters.filled.count(), 0u);
    uint64_t taken = 0;
    for (uint32_t turn = 1;; ++turn) {
      Progress progress = Progress::kFed;
      while (progress == Progress::kFed) progress = feed.Feed();
      const uint64_t filled = counters.filled.count();
      EXPECT_LE(filled - taken, layout.runs);
      const uint64_t end = turn % 2 == 0 ? taken + 1 : filled;
      for (; taken < end; ++taken) {
        const uint64_t first = taken * layout.run_elements;
        const uint64_t elements = std::min(layout.run_elements, layout.element_count - first);
        const uint64_t place = taken % layout.runs * layout.run_elements;
        ASSERT_EQ(std::memcmp(ring + layout.inputs[0].place + place, &bytes_[first], elements), 0);
        ASSERT_EQ(
            std::memcmp(ring + layout.inputs[1].place + 4 * place, &numbers_[first], 4 * elements),
            0);
      }
      counters.emptied.Publish(static_cast<uint32_t>(taken));
      if (taken == layout.run_count) break;
      EXPECT_TRUE(progress == Progress::kStalled || filled == layout.run_count);
    }
    EXPECT_EQ(feed.Feed(), Progress::kDone);
  }
}

}  // namespace
}  // namespace opserve::client_internal
