// Runs of a request: how they are put together, and whose turn it is to have one computed.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/execute/run_assembly.h"
#include "server/execute/run_queue.h"

namespace opserve::testing {
namespace {

// 7 elements in runs of 3: of 1 and 2 bytes in two payloads, and 4 in the result.
RunPlan SmallPlan() {
  return {.element_count = 7,
          .run_elements = 3,
          .element_bytes = {1, 2},
          .result_element_bytes = {4},
          .max_open_runs = 2};
}

// `unknown`: the contents of a field that the server does not know.
ReceivedMessage MessageOf(const std::vector<std::string>& payloads,
                          const std::string& unknown = "") {
  v1::ExecuteStreamRequest message;
  message.set_id(UINT64_MAX);
  if (!unknown.empty()) {
    message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(9, unknown);
  }
  for (const std::string& payload : payloads) message.add_payloads(payload);
  const std::string bytes = message.SerializeAsString();
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  ReceivedMessage received;
  v1::ExecuteStreamRequest header;
  EXPECT_TRUE(received.Read(buffer, header).ok());
  return received;
}

// 5 elements in runs of 2: of 1 byte in the second of three payloads; the others are sent ahead.
RunPlan PlanWithAhead() {
  return {.element_count = 5,
          .run_elements = 2,
          .element_bytes = {0, 1, 0},
          .result_element_bytes = {4},
          .ahead = {2, 0, 3},
          .max_open_runs = 2};
}

class RunAssemblyTest : public ::testing::Test {
 protected:
  explicit RunAssemblyTest(RunPlan plan = SmallPlan()) : assembly_(std::move(plan), pool_) {}

  absl::Status Add(const std::vector<std::string>& payloads, uint64_t end = 100) {
    return assembly_.Add(MessageOf(payloads), end, runs_);
  }
  // The payloads of a run that has been put together.
  std::string TextOf(size_t run, const std::vector<size_t>& lengths) {
    return TextOf(runs_[run], lengths);
  }
  std::string TextOf(ReceivedMessage& message, const std::vector<size_t>& lengths) {
    const std::vector<TensorBytes> payloads = message.Payloads(pool_);
    std::string text;
    for (size_t i = 0; i < lengths.size(); ++i) {
      std::string part(lengths[i], '\0');
      if (lengths[i] > 0)
        payloads[i].CopyTo(reinterpret_cast<std::byte*>(part.data()), part.size());
      text += part + "|";
    }
    return text;
  }

  HostBufferPool pool_{0};
  RunAssembly assembly_;
  std::vector<ReceivedMessage> runs_;
};

TEST_F(RunAssemblyTest, AMessageMayBeARun) {
  EXPECT_TRUE(Add({"abc", "ABCDEF"}).ok());
  ASSERT_EQ(runs_.size(), 1u);
  EXPECT_FALSE(runs_[0].slices().empty()) << "it is put together";
  EXPECT_TRUE(Add({"def", "GHIJKL"}).ok());
  EXPECT_FALSE(assembly_.is_complete());
  EXPECT_TRUE(Add({"g", "MN"}).ok());
  EXPECT_TRUE(assembly_.is_complete());
  ASSERT_EQ(runs_.size(), 3u);
  EXPECT_EQ(TextOf(0, {3, 6}), "abc|ABCDEF|");
  EXPECT_EQ(TextOf(2, {1, 2}), "g|MN|");
}

TEST_F(RunAssemblyTest, OfAMessageWithMoreThanARunThePayloadsAloneAreKept) {
  EXPECT_TRUE(
      assembly_.Add(MessageOf({"abc", "ABCDEF"}, std::string(1 << 20, 'x')), 100, runs_).ok());
  ASSERT_EQ(runs_.size(), 1u);
  EXPECT_EQ(runs_[0].header_bytes(), 0u);
  EXPECT_TRUE(runs_[0].slices().empty());
  EXPECT_EQ(TextOf(0, {3, 6}), "abc|ABCDEF|");
  EXPECT_TRUE(Add({"def", "GHIJKL"}).ok());
  ASSERT_EQ(runs_.size(), 2u);
  EXPECT_EQ(TextOf(1, {3, 6}), "def|GHIJKL|");
}

TEST(RunAssemblyOfManyTest, AMessageWithManyPayloadsMayBeARun) {
  HostBufferPool pool(0);
  RunAssembly assembly({.element_count = 2,
                        .run_elements = 1,
                        .element_bytes = std::vector<uint64_t>(100, 1),
                        .result_element_bytes = {1}},
                       pool);
  std::vector<ReceivedMessage> runs;
  EXPECT_TRUE(assembly.Add(MessageOf(std::vector<std::string>(100, "x")), 1, runs).ok());
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_FALSE(runs[0].slices().empty()) << "it is put together";
}

TEST_F(RunAssemblyTest, PiecesArePutTogetherWhereverTheyAreCut) {
  EXPECT_TRUE(Add({"a"}).ok());
  EXPECT_TRUE(Add({"bc", "ABCDE"}).ok());
  EXPECT_TRUE(runs_.empty());
  EXPECT_TRUE(Add({"F", "def", "GHI"}).ok());
  EXPECT_EQ(runs_.size(), 1u);
  EXPECT_TRUE(Add({}).ok());
  EXPECT_TRUE(Add({"JKL", "g", "MN"}).ok());
  EXPECT_TRUE(assembly_.is_complete());
  ASSERT_EQ(runs_.size(), 3u);
  EXPECT_EQ(TextOf(0, {3, 6}), "abc|ABCDEF|");
  EXPECT_EQ(TextOf(1, {3, 6}), "def|GHIJKL|");
  EXPECT_EQ(TextOf(2, {1, 2}), "g|MN|");
}

TEST_F(RunAssemblyTest, APieceBelongsToOnePayloadOfOneRun) {
  EXPECT_TRUE(absl::IsOutOfRange(Add({"abcd"})));
}

TEST_F(RunAssemblyTest, NothingComesAfterTheLastRun) {
  EXPECT_TRUE(Add({"abc", "ABCDEF", "def", "GHIJKL", "g", "MN"}).ok());
  EXPECT_TRUE(assembly_.is_complete());
  EXPECT_TRUE(absl::IsOutOfRange(Add({"x"})));
}

TEST_F(RunAssemblyTest, ARunThatMayNotBeOpenIsRefused) {
  EXPECT_TRUE(Add({"abc", "ABCDEF"}, 2).ok());
  EXPECT_TRUE(Add({"def", "GHIJKL"}, 2).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Add({"g", "MN"}, 2)));
  EXPECT_TRUE(Add({"g", "MN"}, 3).ok());
}

TEST_F(RunAssemblyTest, WhatIsDroppedIsCounted) {
  EXPECT_TRUE(Add({"abc", "ABC"}).ok());
  assembly_.Drop();
  EXPECT_TRUE(Add({"DEF", "def"}, 0).ok());
  EXPECT_TRUE(Add({"GHIJKL"}, 0).ok());
  EXPECT_TRUE(Add({"g", "MN"}, 0).ok());
  EXPECT_TRUE(assembly_.is_complete());
  EXPECT_TRUE(runs_.empty());
}

class AheadTest : public RunAssemblyTest {
 protected:
  AheadTest() : RunAssemblyTest(PlanWithAhead()) {}

  // What was sent ahead; nothing where it is not complete.
  std::string TakeAhead() {
    std::optional<ReceivedMessage> ahead = assembly_.TakeAhead();
    return ahead ? TextOf(*ahead, {2, 0, 3}) : "";
  }
};

TEST_F(AheadTest, ItComesBeforeTheFirstRun) {
  EXPECT_TRUE(Add({"xy", "123"}).ok());
  EXPECT_EQ(TakeAhead(), "xy||123|");
  EXPECT_TRUE(runs_.empty());
  // Its payloads may have pieces without bytes in a run, which is passed on as it is.
  EXPECT_TRUE(Add({"", "ab", ""}).ok());
  EXPECT_TRUE(Add({"cd"}).ok());
  EXPECT_TRUE(Add({"", "e", ""}).ok());
  EXPECT_TRUE(assembly_.is_complete());
  ASSERT_EQ(runs_.size(), 3u);
  EXPECT_EQ(TextOf(0, {0, 2, 0}), "|ab||");
  EXPECT_EQ(TextOf(1, {0, 2, 0}), "|cd||");
  EXPECT_EQ(TextOf(2, {0, 1, 0}), "|e||");
  EXPECT_EQ(TakeAhead(), "") << "once";
}

TEST_F(AheadTest, ItIsPutTogetherWhereverItIsCut) {
  EXPECT_TRUE(Add({"x", "y", "", "1"}).ok());
  EXPECT_EQ(TakeAhead(), "");
  EXPECT_TRUE(Add({"23", "a", "b", "cd"}).ok());
  EXPECT_EQ(TakeAhead(), "xy||123|");
  ASSERT_EQ(runs_.size(), 2u);
  EXPECT_EQ(TextOf(0, {0, 2, 0}), "|ab||");
  EXPECT_EQ(TextOf(1, {0, 2, 0}), "|cd||");
}

TEST_F(AheadTest, AMessageLikeARunIsNoneBeforeIt) {
  EXPECT_TRUE(Add({"", "xy", ""}).ok());
  EXPECT_TRUE(runs_.empty());
  EXPECT_TRUE(Add({"123"}).ok());
  EXPECT_EQ(TakeAhead(), "xy||123|");
}

TEST_F(AheadTest, APieceBeyondItIsRefused) { EXPECT_TRUE(absl::IsOutOfRange(Add({"xyz"}))); }

TEST_F(AheadTest, AfterALastRunPiecesWithoutBytesBringNothing) {
  EXPECT_TRUE(Add({"xy", "123", "ab", "cd"}, 2).ok());
  EXPECT_TRUE(Add({"", ""}, 2).ok()) << "although run 2 may not be open";
  EXPECT_TRUE(Add({"e", ""}, 3).ok());
  EXPECT_TRUE(assembly_.is_complete());
}

TEST_F(AheadTest, WhatIsDroppedIsCounted) {
  EXPECT_TRUE(Add({"xy", "1"}).ok());
  assembly_.Drop();
  EXPECT_TRUE(Add({"23", "ab", "cd", "e"}, 0).ok());
  EXPECT_EQ(TakeAhead(), "");
  EXPECT_TRUE(runs_.empty());
  EXPECT_TRUE(assembly_.is_complete());
}

// A run that can be told from others.
ReceivedMessage RunOf(size_t length) { return MessageOf({std::string(length, 'r')}); }

size_t NumberOf(const RunQueue::Step& step) {
  return step.run ? step.run->payload_bytes().front() : 0;
}

TEST(RunQueueTest, OneRunIsAtWorkAtATime) {
  RunQueue queue;
  EXPECT_EQ(NumberOf(queue.Begin()), 0u);
  queue.Push(RunOf(1));
  queue.Push(RunOf(2));
  EXPECT_EQ(NumberOf(queue.Begin()), 1u);
  EXPECT_EQ(NumberOf(queue.Begin()), 0u);
  EXPECT_FALSE(queue.OnSubmitted());
  EXPECT_EQ(NumberOf(queue.Begin()), 0u);
  // It was queued: whoever answers it goes on.
  EXPECT_TRUE(queue.OnAnswered());
  EXPECT_EQ(NumberOf(queue.Begin()), 2u);
  // It is answered before it has been submitted: whoever submits it goes on.
  EXPECT_FALSE(queue.OnAnswered());
  EXPECT_EQ(NumberOf(queue.Begin()), 0u);
  EXPECT_TRUE(queue.OnSubmitted());
  EXPECT_EQ(NumberOf(queue.Begin()), 0u);
}

TEST(RunQueueTest, GivenUpWhileNoRunIsAtWork) {
  RunQueue queue;
  queue.Stop(absl::CancelledError("first"));
  queue.Stop(absl::CancelledError("second"));
  queue.Push(RunOf(1));
  const RunQueue::Step step = queue.Begin();
  EXPECT_FALSE(step.run);
  EXPECT_EQ(step.refusal, absl::CancelledError("first"));
  EXPECT_TRUE(queue.has_ended());
  // Once.
  EXPECT_TRUE(queue.Begin().refusal.ok());
}

TEST(RunQueueTest, GivenUpWhileARunIsAtWork) {
  RunQueue queue;
  queue.Push(RunOf(1));
  queue.Push(RunOf(2));
  EXPECT_EQ(NumberOf(queue.Begin()), 1u);
  EXPECT_FALSE(queue.OnSubmitted());
  queue.Stop(absl::CancelledError(""));
  EXPECT_TRUE(queue.Begin().refusal.ok());
  EXPECT_FALSE(queue.has_ended());
  EXPECT_TRUE(queue.OnAnswered());
  const RunQueue::Step step = queue.Begin();
  EXPECT_FALSE(step.run);
  EXPECT_TRUE(absl::IsCancelled(step.refusal));
}

TEST(RunQueueTest, TheEndDropsWhatWaits) {
  RunQueue queue;
  queue.Push(RunOf(1));
  queue.Push(RunOf(2));
  EXPECT_EQ(NumberOf(queue.Begin()), 1u);
  queue.End();
  EXPECT_FALSE(queue.OnAnswered());
  EXPECT_FALSE(queue.OnSubmitted());
  queue.Stop(absl::CancelledError(""));
  const RunQueue::Step step = queue.Begin();
  EXPECT_FALSE(step.run);
  EXPECT_TRUE(step.refusal.ok());
}

}  // namespace
}  // namespace opserve::testing
