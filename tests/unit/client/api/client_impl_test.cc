// Deadlines and retries of whole calls, over a scripted transport and a clock that tests move.

#include "client/api/client_impl.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/api/scripted_client.h"
#include "tests/unit/client/rpc/statuses.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using testing::Exhausted;
using testing::Fixture;
using testing::GoodResponse;
using ::testing::IsEmpty;
using testing::kCall;
using testing::kGone;

TEST(ClientImplTest, RetriesUntilItWorksAndCountsHowOftenItSent) {
  Fixture f({kGone, Exhausted(absl::Seconds(1))});
  ExecutionInfo info;
  const auto output = f.Execute(kCall, {}, &info);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->bytes().size(), 2u);
  EXPECT_EQ(info.sends, 3);
  EXPECT_EQ(info.attempts, 2u) << "those are the server's";
  EXPECT_EQ(info.device, "cpu");
  EXPECT_THAT(f.clock->waits, ElementsAre(absl::Milliseconds(100), absl::Seconds(1)));
}

TEST(ClientImplTest, TheDeadlineSpansAllAttempts) {
  Fixture f({kGone, kGone});
  f.transport->time_per_attempt = absl::Seconds(2);
  ASSERT_TRUE(f.Execute(kCall, {.timeout = absl::Seconds(6)}, nullptr).ok());
  EXPECT_THAT(f.transport->timeouts,
              ElementsAre(absl::Seconds(6), absl::Milliseconds(3900), absl::Milliseconds(1700)));
}

TEST(ClientImplTest, ReturnsTheLastErrorWhenAttemptsAreUsedUp) {
  Fixture f({kGone, kGone, absl::UnavailableError("still gone")});
  const auto output = f.Execute(kCall, {}, nullptr);
  EXPECT_EQ(output.status(), absl::UnavailableError("still gone"));
  EXPECT_EQ(f.transport->timeouts.size(), 3u);
}

TEST(ClientImplTest, ReturnsTheErrorAtOnceWhereTheWaitWouldPassTheDeadline) {
  Fixture f({Exhausted(absl::Seconds(30))});
  const auto output = f.Execute(kCall, {}, nullptr);
  EXPECT_EQ(output.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetRetryDelay(output.status()), absl::Seconds(30));
  EXPECT_TRUE(f.clock->waits.empty());
}

TEST(ClientImplTest, FinalErrorsAreNotRetried) {
  Fixture f({absl::InvalidArgumentError("no")});
  EXPECT_EQ(f.Execute(kCall, {}, nullptr).status(), absl::InvalidArgumentError("no"));
  EXPECT_EQ(f.transport->timeouts.size(), 1u);
}

TEST(ClientImplTest, ACallMaySetItsOwnPolicy) {
  Fixture f({kGone});
  const CallOptions once = {.timeout = {}, .retry = RetryPolicy{.max_attempts = 1}};
  EXPECT_EQ(f.Execute(kCall, once, nullptr).status(), kGone);
}

TEST(ClientImplTest, AsynchronousCallsRetryOnTheClock) {
  Fixture f({kGone, kGone});
  int calls = 0;
  f.ExecuteAsync(kCall,
                 [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo& info) {
                   ++calls;
                   EXPECT_TRUE(output.ok()) << output.status();
                   EXPECT_EQ(info.sends, 3);
                 },
                 {});
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(f.clock->waits, ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200)));
}

TEST(ClientImplTest, AsynchronousCallsGiveTheLastError) {
  Fixture f({kGone, kGone, kGone, kGone});
  absl::Status status;
  f.ExecuteAsync(
      kCall,
      [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) { status = output.status(); },
      {});
  EXPECT_EQ(status, kGone);
}

TEST(ClientImplTest, DestructionWaitsForCallsInFlight) {
  Fixture f({});
  f.transport->answers_late = true;
  std::atomic<bool> answered = false;
  f.ExecuteAsync(kCall,
                 [&](const absl::StatusOr<Tensor>&, const ExecutionInfo&) { answered = true; }, {});
  std::thread late([&] { f.transport->AnswerLate(); });
  f.impl.reset();
  EXPECT_TRUE(answered);
  late.join();
}

TEST(ClientImplTest, AContradictoryResponseIsDataLoss) {
  v1::ExecuteResponse too_long = GoodResponse();
  too_long.set_payload("abc");
  // Of no output at all, of another size, of a header that is no message, of text that is no UTF-8.
  for (const std::string& bytes : {std::string(), too_long.SerializeAsString(),
                                   std::string("\x12\x01\x10"), std::string("\x0a\x02\xc3\x28")}) {
    Fixture f({});
    f.transport->answer = bytes;
    EXPECT_TRUE(absl::IsDataLoss(f.Execute(kCall, {}, nullptr).status()));
    std::byte target[2] = {};
    EXPECT_TRUE(absl::IsDataLoss(f.ExecuteInto(kCall, target, {}, nullptr).status()));
    absl::Status status;
    f.ExecuteAsync(kCall,
                   [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) {
                     status = output.status();
                   },
                   {});
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_EQ(f.transport->timeouts.size(), 3u) << "no reason to try again";
  }
}

TEST(ClientImplTest, OtherMethodsRefuseWhatIsNoMessage) {
  Fixture f({});
  f.transport->answer = "\x0a\x02\xc3\x28";
  EXPECT_TRUE(absl::IsDataLoss(f.impl->Run(f.impl->ListOperators("", "", {})).status()));
  EXPECT_TRUE(absl::IsDataLoss(f.impl->Run(f.impl->GetServerInfo({})).status()));
  EXPECT_TRUE(absl::IsDataLoss(f.impl->Run(f.impl->SelfTestDevices("", {})).status()));
}

TEST(ClientImplTest, ResultsAreAlignedAndTheirMemoryIsUsedAgain) {
  Fixture f({});
  const std::byte* data = nullptr;
  {
    const auto output = f.Execute(kCall, {}, nullptr);
    ASSERT_TRUE(output.ok()) << output.status();
    data = output->bytes().data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    const auto other = f.Execute(kCall, {}, nullptr);
    EXPECT_NE(other->bytes().data(), data) << "still in use";
  }
  Tensor kept = *f.Execute(kCall, {}, nullptr);
  EXPECT_EQ(kept.bytes().data(), data) << "given back last";
  f.impl.reset();
  EXPECT_THAT(*kept.Elements<uint8_t>(), ElementsAre('a', 'b')) << "outlives the client";
}

TEST(ClientImplTest, AResultMayGoToTheCallersMemory) {
  Fixture f({kGone});
  std::byte target[3] = {};
  ExecutionInfo info;
  const auto spec = f.ExecuteInto(kCall, std::span(target).subspan(1), {}, &info);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, (TensorSpec{DataType::kUint8, {2}, {}}));
  EXPECT_THAT(target, ElementsAre(std::byte{0}, std::byte{'a'}, std::byte{'b'}));
  EXPECT_EQ(info.sends, 2);
}

TEST(ClientImplTest, TheCallersMemoryIsWrittenOnlyWhereTheCallSucceeds) {
  Fixture f({absl::InvalidArgumentError("no")});
  std::byte target[3] = {};
  const auto is_untouched = [&] {
    return std::all_of(std::begin(target), std::end(target),
                       [](std::byte byte) { return byte == std::byte{0}; });
  };
  EXPECT_EQ(f.ExecuteInto(kCall, target, {}, nullptr).status(), absl::InvalidArgumentError("no"));
  EXPECT_TRUE(is_untouched());
  for (const size_t size : {size_t{0}, size_t{1}, size_t{3}}) {
    const absl::Status status =
        f.ExecuteInto(kCall, std::span(target).first(size), {}, nullptr).status();
    EXPECT_EQ(status.message(), absl::StrCat("the result, UINT8 {2}, has 2 bytes; there is room "
                                             "for ",
                                             size));
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_TRUE(is_untouched());
  }
}

TEST(ClientImplTest, OtherCallsRetryToo) {
  Fixture f({kGone});
  EXPECT_EQ(f.impl->Run(f.impl->GetServerInfo({}))->version, "1.2.3");
  Fixture g({kGone});
  EXPECT_EQ(g.impl->Run(g.impl->ListOperators("ROUND", "", {}))->operators[0].name, "ROUND");
  Fixture h({kGone});
  EXPECT_EQ(*h.impl->Run(h.impl->CheckHealth("", {})), HealthStatus::kServing);
  Fixture i({absl::InvalidArgumentError("no")});
  EXPECT_EQ(i.impl->Run(i.impl->SelfTestDevices("gpu", {})).status(),
            absl::InvalidArgumentError("no"));
  EXPECT_EQ(i.impl->Run(i.impl->SelfTestDevices("gpu", {}))->front().device, "gpu");
}

TEST(ClientImplTest, AStreamIsOpenedAsItsOptionsSay) {
  Fixture f({});
  EXPECT_TRUE(absl::IsInvalidArgument(f.impl->OpenStream({.piece_bytes = 1023}).status()));
  EXPECT_THAT(f.transport->timeouts, IsEmpty());
  const auto stream = f.impl->OpenStream({.timeout = absl::Seconds(7)});
  ASSERT_TRUE(stream.ok());
  EXPECT_THAT(f.transport->timeouts, ElementsAre(absl::Seconds(7)));
  f.transport->stream->End(absl::OkStatus());
}

TEST(ClientImplTest, AnyAnswerButSilenceMeansConnected) {
  EXPECT_TRUE(Fixture({}).impl->WaitForServer().ok());
  EXPECT_TRUE(Fixture({absl::UnimplementedError("no health")}).impl->WaitForServer().ok());
  EXPECT_EQ(Fixture({kGone}).impl->WaitForServer(), kGone);
  EXPECT_EQ(Fixture({absl::DeadlineExceededError("slow")}).impl->WaitForServer().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(SteadyClockTest, RunsActionsInTheOrderOfTheirTimes) {
  constexpr absl::Duration kDelay = absl::Milliseconds(20);
  std::vector<int> order;
  std::promise<void> begun;
  std::promise<void> proceed;
  std::promise<absl::Time> finished;
  const std::unique_ptr<ClientClock> clock = MakeSteadyClock();
  // Nothing else runs until all is arranged. The times are hours apart, so that it does not matter
  // how long that takes.
  clock->RunAfter(absl::ZeroDuration(), [&] {
    begun.set_value();
    proceed.get_future().wait();
  });
  begun.get_future().wait();
  const absl::Time start = clock->Now();
  clock->RunAfter(kDelay, [&] {
    order.push_back(3);
    finished.set_value(clock->Now());
  });
  clock->RunAfter(-absl::Hours(1), [&] { order.push_back(2); });
  clock->RunAfter(-absl::Hours(2), [&] { order.push_back(1); });
  proceed.set_value();
  EXPECT_GE(finished.get_future().get() - start, kDelay);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(SteadyClockTest, WhatIsCalledOffDoesNotRun) {
  bool ran = false;
  std::unique_ptr<ClientClock> clock = MakeSteadyClock();
  const ClientClock::Key key = clock->RunAfter(absl::Hours(1), [] { ADD_FAILURE(); });
  clock->RunAfter(absl::Hours(1), [&] { ran = true; });
  clock->Cancel(key);
  clock->Cancel(key);
  clock.reset();
  EXPECT_TRUE(ran);
}

TEST(SteadyClockTest, DestructionRunsWhatIsPending) {
  bool ran = false;
  MakeSteadyClock()->RunAfter(absl::Hours(1), [&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace opserve::client_internal
