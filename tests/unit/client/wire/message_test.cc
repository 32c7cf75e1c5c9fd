// Messages to send and received ones, held to the generated code.

#include "client/wire/message.h"

#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/v1/operator_service.pb.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::client_internal {
namespace {

using testing::BufferOf;
using testing::BytesOf;

std::span<const std::byte> ViewOf(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

// Sizes around all borders: of varints, of what is copied.
size_t RandomSize(std::mt19937_64& random) {
  constexpr size_t kBorders[] = {0, 1, 127, 128, 16383, 16384, kLeastLentBytes, 2097152};
  const size_t border = kBorders[random() % std::size(kBorders)];
  return random() % 2 == 0 ? border + random() % 3 : random() % 40'000;
}

TEST(ComposeTest, WritesTheBytesOfTheGeneratedCode) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    v1::ExecuteRequest request;
    if (i % 10 != 0) request.set_operator_(std::string(random() % 300, 'o'));
    if (i % 3 == 0) request.set_verify(true);
    OutgoingMessage message = {request.SerializeAsString()};
    for (size_t p = random() % 5; p > 0; --p) {
      request.add_payloads(std::string(RandomSize(random), static_cast<char>('a' + p)));
    }
    for (const std::string& payload : request.payloads()) {
      message.payloads.push_back(ViewOf(payload));
    }
    PayloadHold hold;
    ASSERT_EQ(BytesOf(Compose(message, hold)), request.SerializeAsString()) << i;
    EXPECT_TRUE(hold.IsReleased());
  }
}

TEST(ComposeTest, LendsLargePayloadsAndCopiesSmallOnes) {
  const std::string small(kLeastLentBytes - 1, 's');
  const std::string large(kLeastLentBytes, 'l');
  PayloadHold hold;
  {
    const grpc::ByteBuffer copied = Compose({"", {ViewOf(small)}}, hold);
    EXPECT_TRUE(hold.IsReleased());
  }
  grpc::ByteBuffer lent = Compose({"", {ViewOf(small), ViewOf(large), ViewOf(small)}}, hold);
  EXPECT_FALSE(hold.IsReleased());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(lent.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(static_cast<const void*>(slices[1].begin()), large.data());
  lent.Clear();
  EXPECT_FALSE(hold.IsReleased()) << "a copy of the slice counts as well";
  slices.clear();
  EXPECT_TRUE(hold.IsReleased());
}

TEST(PayloadHoldTest, WaitsUntilTheLastSliceIsGone) {
  const std::string bytes(100, 'x');
  PayloadHold hold;
  EXPECT_TRUE(hold.WaitFor(absl::ZeroDuration()));
  auto first = std::make_unique<grpc::Slice>(hold.Lend(ViewOf(bytes)));
  auto second = std::make_unique<grpc::Slice>(hold.Lend(ViewOf(bytes)));
  first.reset();
  EXPECT_FALSE(hold.WaitFor(absl::Milliseconds(1)));
  std::thread other([&] { second.reset(); });
  EXPECT_TRUE(hold.WaitFor(absl::InfiniteDuration()));
  other.join();
}

TEST(PayloadHoldTest, TellsOfTheReleaseOnceAndMayGoThen) {
  const std::string bytes(100, 'x');
  int calls = 0;
  PayloadHold never_lent;
  never_lent.OnRelease([&] { ++calls; });
  EXPECT_EQ(calls, 1);

  auto hold = std::make_unique<PayloadHold>();
  auto slice = std::make_unique<grpc::Slice>(hold->Lend(ViewOf(bytes)));
  hold->OnRelease([&] {
    ++calls;
    hold.reset();
  });
  EXPECT_EQ(calls, 1);
  slice.reset();
  EXPECT_EQ(calls, 2);
}

TEST(ReceivedMessageTest, FindsThePayloadInAnySlices) {
  v1::ExecuteResponse response;
  response.set_request_id("id");
  const std::string header = response.SerializeAsString();
  response.set_payload("some payload that spans slices");
  const std::string bytes = response.SerializeAsString();
  for (size_t slice_bytes = 1; slice_bytes <= bytes.size(); ++slice_bytes) {
    ResponseMessage moved = testing::ReceivedFrom(bytes, slice_bytes);
    const ResponseMessage received = std::move(moved);
    EXPECT_EQ(received.header(), header);
    ASSERT_EQ(received.payload_count(), 1u);
    std::string payload(received.payload_bytes(0), '\0');
    received.CopyPayload(0, reinterpret_cast<std::byte*>(payload.data()));
    EXPECT_EQ(payload, response.payload());
  }
}

TEST(ReceivedMessageTest, TakesTheBytesOver) {
  grpc::ByteBuffer buffer = BufferOf("\x0a\x01x", 3);
  ResponseMessage received;
  ASSERT_TRUE(received.Read(buffer).ok());
  EXPECT_FALSE(buffer.Valid());
}

TEST(ReceivedMessageTest, WhatIsNoMessageIsDataLossAndLeavesNothing) {
  v1::ExecuteResponse response;
  response.set_payload(std::string(1000, 'p'));
  const std::string good = response.SerializeAsString();
  ResponseMessage received = testing::ReceivedFrom(good);
  for (const std::string& bad : {good.substr(0, 500), good + "\x07", std::string(1, '\0')}) {
    grpc::ByteBuffer buffer = BufferOf(bad, 64);
    EXPECT_EQ(received.Read(buffer).code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(received.payload_count(), 0u);
    EXPECT_EQ(received.header(), "");
  }
  grpc::ByteBuffer none;
  EXPECT_EQ(received.Read(none).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace opserve::client_internal
