#include "proto/transport/shared_write.h"

#include <string>

#include "gtest/gtest.h"

namespace opserve {
namespace {

grpc::ByteBuffer MessageOf(size_t bytes) {
  const grpc::Slice slice(std::string(bytes, 'm'));
  return {&slice, 1};
}

// One whose first message, which never waits, has been sent.
SharedWrite BegunWrite() {
  SharedWrite write;
  write.OptionsFor(MessageOf(1), false);
  return write;
}

TEST(SharedWriteTest, TheFirstMessageWaitsForNone) {
  SharedWrite write;
  EXPECT_FALSE(write.OptionsFor(MessageOf(1), true).get_buffer_hint());
  EXPECT_FALSE(write.has_waiting());
  EXPECT_TRUE(write.OptionsFor(MessageOf(1), true).get_buffer_hint());
  EXPECT_TRUE(write.has_waiting());
}

TEST(SharedWriteTest, OnlySmallMessagesThatAreFollowedWait) {
  SharedWrite write = BegunWrite();
  EXPECT_TRUE(write.OptionsFor(MessageOf(32 << 10), true).get_buffer_hint());
  EXPECT_FALSE(write.OptionsFor(MessageOf((32 << 10) + 1), true).get_buffer_hint());
  EXPECT_FALSE(write.OptionsFor(MessageOf(1), false).get_buffer_hint());
}

TEST(SharedWriteTest, OneOf32MessagesWaitsForNone) {
  SharedWrite write = BegunWrite();
  for (int i = 1; i <= 100; ++i) {
    EXPECT_EQ(write.OptionsFor(MessageOf(1), true).get_buffer_hint(), i % 32 != 0) << i;
  }
}

TEST(SharedWriteTest, AWriteBeginsTheCountAnew) {
  SharedWrite write = BegunWrite();
  for (int i = 1; i < 32; ++i) write.OptionsFor(MessageOf(1), true);
  EXPECT_FALSE(write.OptionsFor(MessageOf(1), false).get_buffer_hint());
  EXPECT_TRUE(write.OptionsFor(MessageOf(1), true).get_buffer_hint());
}

}  // namespace
}  // namespace opserve
