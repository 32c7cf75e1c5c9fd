#include "server/d3d12/buffer_use.h"

#include <gtest/gtest.h>

namespace opserve::d3d12 {
namespace {

constexpr BufferUse kUses[] = {BufferUse::kRead, BufferUse::kWritten, BufferUse::kCopiedFrom};

TEST(BufferUseTest, AFirstUseNeedsNothing) {
  for (const BufferUse use : kUses) {
    EXPECT_EQ(BarrierBetween(BufferUse::kNone, use), BufferBarrier::kNone);
  }
}

TEST(BufferUseTest, AnotherUseIsATransition) {
  for (const BufferUse before : kUses) {
    for (const BufferUse after : kUses) {
      if (before == after) continue;
      EXPECT_EQ(BarrierBetween(before, after), BufferBarrier::kTransition);
    }
  }
}

TEST(BufferUseTest, ReadsMayOverlap) {
  EXPECT_EQ(BarrierBetween(BufferUse::kRead, BufferUse::kRead), BufferBarrier::kNone);
  EXPECT_EQ(BarrierBetween(BufferUse::kCopiedFrom, BufferUse::kCopiedFrom), BufferBarrier::kNone);
}

// A result that nobody reads, and another one in the same place.
TEST(BufferUseTest, WritesFollowEachOther) {
  EXPECT_EQ(BarrierBetween(BufferUse::kWritten, BufferUse::kWritten), BufferBarrier::kWrites);
}

}  // namespace
}  // namespace opserve::d3d12
