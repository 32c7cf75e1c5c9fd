// Payloads that come in pieces, and answers that leave in pieces.

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "server/execute/answer_queue.h"
#include "server/execute/payload_assembly.h"

namespace opserve::testing {
namespace {

// A piece that lies in two slices.
struct DividedPiece {
  explicit DividedPiece(const std::string& text) : bytes(text) {
    const auto all = std::as_bytes(std::span(bytes));
    slices = {all.first(bytes.size() / 2), all.subspan(bytes.size() / 2)};
  }
  PayloadPlace place() const { return {0, 0, bytes.size()}; }

  std::string bytes;
  std::vector<ByteSlice> slices;
};

bool Add(PayloadAssembly& assembly, const std::string& text) {
  const DividedPiece piece(text);
  return assembly.Add(piece.slices, piece.place());
}

TEST(PayloadAssemblyTest, PutsPiecesTogether) {
  HostBufferPool pool(0);
  const uint64_t lengths[] = {0, 5, 0, 3, 0};
  PayloadAssembly assembly(lengths);
  ASSERT_TRUE(assembly.Allocate(pool).ok());
  EXPECT_TRUE(Add(assembly, "ab"));
  EXPECT_TRUE(Add(assembly, ""));
  EXPECT_TRUE(Add(assembly, "cde"));
  EXPECT_FALSE(assembly.complete());
  EXPECT_TRUE(Add(assembly, "xyz"));
  EXPECT_TRUE(assembly.complete());
  ReceivedMessage taken = assembly.Take();
  const std::vector<TensorBytes> payloads = taken.Payloads(pool);
  ASSERT_EQ(payloads.size(), 5u);
  EXPECT_EQ(std::memcmp(payloads[1].data(), "abcde", 5), 0);
  EXPECT_EQ(std::memcmp(payloads[3].data(), "xyz", 3), 0);
  // A result that took the place of a payload leaves in its buffer.
  const OutgoingPayload sent = taken.Send(1, 5);
  EXPECT_EQ(sent.data, payloads[1].data());
  EXPECT_EQ(sent.bytes, 5u);
}

TEST(PayloadAssemblyTest, APieceBelongsToOnePayload) {
  HostBufferPool pool(0);
  const uint64_t lengths[] = {5, 3};
  PayloadAssembly assembly(lengths);
  ASSERT_TRUE(assembly.Allocate(pool).ok());
  EXPECT_TRUE(Add(assembly, "abcd"));
  EXPECT_FALSE(Add(assembly, "ex"));
  EXPECT_TRUE(Add(assembly, "e"));
  EXPECT_TRUE(Add(assembly, "xyz"));
  EXPECT_FALSE(Add(assembly, "x"));
  EXPECT_FALSE(Add(assembly, ""));
  ReceivedMessage taken = assembly.Take();
  EXPECT_EQ(std::memcmp(taken.Payloads(pool)[0].data(), "abcde", 5), 0);
}

TEST(PayloadAssemblyTest, WithoutRoomItOnlyCounts) {
  const uint64_t lengths[] = {uint64_t{1} << 50, 2};
  PayloadAssembly assembly(lengths);
  EXPECT_TRUE(Add(assembly, std::string(100000, 'x')));
  EXPECT_FALSE(assembly.complete());
}

TEST(PayloadAssemblyTest, NothingToWaitFor) {
  EXPECT_TRUE(PayloadAssembly({}).complete());
  const uint64_t lengths[] = {0, 0};
  EXPECT_TRUE(PayloadAssembly(lengths).complete());
}

v1::ExecuteStreamResponse Parse(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  v1::ExecuteStreamResponse parsed;
  EXPECT_TRUE(parsed.ParseFromString(bytes));
  return parsed;
}

StreamAnswer AnswerOf(uint64_t id, const std::shared_ptr<std::string>& payload) {
  StreamAnswer answer;
  answer.header.set_id(id);
  answer.header.mutable_response()->set_request_id("r" + std::to_string(id));
  answer.header.set_payload_bytes(payload->size());
  answer.payloads.push_back(
      {reinterpret_cast<const std::byte*>(payload->data()), payload->size(), payload});
  answer.budget_bytes = 10 * id;
  return answer;
}

TEST(AnswerQueueTest, LargeAnswersTakeTurnsWithOthers) {
  std::mt19937 random(7);
  const auto text = [&random](size_t size) {
    auto made = std::make_shared<std::string>(size, '\0');
    std::generate(made->begin(), made->end(), random);
    return made;
  };
  const std::map<uint64_t, std::shared_ptr<std::string>> sent = {
      {1, text(3 * kStreamPieceBytes + 5)}, {2, text(10)}, {3, text(2 * kStreamPieceBytes)}};
  AnswerQueue queue;
  for (const auto& [id, payload] : sent) queue.Push(AnswerOf(id, payload));

  std::map<uint64_t, std::string> got;
  std::vector<uint64_t> order;
  std::vector<uint64_t> budgets;
  while (!queue.empty()) {
    const AnswerQueue::Message message = queue.Pop();
    const v1::ExecuteStreamResponse part = Parse(message.Compose());
    const bool is_first = got.find(part.id()) == got.end();
    EXPECT_EQ(part.has_response(), is_first);
    EXPECT_EQ(part.payload_bytes(), is_first ? sent.at(part.id())->size() : 0u);
    got[part.id()] += part.payload();
    order.push_back(part.id());
    budgets.push_back(message.budget_bytes);
  }
  for (const auto& [id, payload] : sent) EXPECT_EQ(got[id], *payload) << id;
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 2, 3, 1, 3, 1, 1}));
  EXPECT_EQ(budgets, (std::vector<uint64_t>{0, 20, 0, 0, 30, 0, 10}));
}

TEST(AnswerQueueTest, KeepsThePayloadUntilItIsSent) {
  auto payload = std::make_shared<std::string>(2 * kStreamPieceBytes, 'p');
  const std::weak_ptr<std::string> watched = payload;
  AnswerQueue queue;
  queue.Push(AnswerOf(1, payload));
  payload.reset();
  grpc::ByteBuffer first = queue.Pop().Compose();
  grpc::ByteBuffer second = queue.Pop().Compose();
  EXPECT_TRUE(queue.empty());
  first.Clear();
  EXPECT_FALSE(watched.expired());
  second.Clear();
  EXPECT_TRUE(watched.expired());
}

// One that is large, and one of a run, whose messages follow each other.
TEST(AnswerQueueTest, APieceBelongsToOnePayload) {
  const std::string texts[] = {std::string(kStreamPieceBytes + 1, 'a'), "b", "c", "d"};
  AnswerQueue queue;
  for (const int first : {0, 2}) {
    StreamAnswer answer = AnswerOf(1, std::make_shared<std::string>(texts[first]));
    answer.payloads.push_back(
        std::move(AnswerOf(1, std::make_shared<std::string>(texts[first + 1])).payloads.front()));
    answer.is_of_run = first == 2;
    queue.Push(std::move(answer));
  }
  std::vector<std::string> got(2);
  std::vector<bool> has_header;
  std::vector<uint64_t> budgets;
  while (!queue.empty()) {
    const AnswerQueue::Message message = queue.Pop();
    const v1::ExecuteStreamResponse part = Parse(message.Compose());
    got[part.payload_number()] += part.payload();
    has_header.push_back(part.has_response());
    budgets.push_back(message.budget_bytes);
    EXPECT_EQ(message.is_end, message.budget_bytes > 0);
  }
  EXPECT_EQ(got[0].size(), kStreamPieceBytes + 2);
  EXPECT_EQ(std::count(got[0].begin(), got[0].end(), 'c'), 1);
  EXPECT_EQ(has_header, (std::vector<bool>{true, false, true, false, false}));
  EXPECT_EQ(budgets, (std::vector<uint64_t>{0, 0, 10, 0, 10}));
}

TEST(AnswerQueueTest, AnErrorIsOneMessage) {
  AnswerQueue queue;
  StreamAnswer answer;
  answer.header.set_id(4);
  answer.header.set_error("why");
  queue.Push(std::move(answer));
  const v1::ExecuteStreamResponse message = Parse(queue.Pop().Compose());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(message.id(), 4u);
  EXPECT_EQ(message.error(), "why");
  EXPECT_FALSE(message.has_response());
}

}  // namespace
}  // namespace opserve::testing
