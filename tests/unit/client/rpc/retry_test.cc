// When a failed call is tried again, and after how long.

#include "client/rpc/retry.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"
#include "tests/unit/client/rpc/statuses.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using testing::Exhausted;
using ::testing::IsEmpty;
using testing::kGone;
using testing::SaidBy;
using testing::WithReason;

const absl::Status kUnknownOperator =
    WithReason(absl::NotFoundError("no such operator"), "OPERATOR_NOT_FOUND");

const absl::Time kStart = absl::UnixEpoch();

RetryPolicy Policy() {
  return {.max_attempts = 4,
          .initial_backoff = absl::Milliseconds(100),
          .max_backoff = absl::Milliseconds(300),
          .jitter = 0.5};
}

TEST(RetryTest, BacksOffExponentiallyUpToTheLimitAndStops) {
  RetryState retries(Policy(), absl::InfiniteFuture());
  EXPECT_EQ(retries.attempts(), 1);
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), absl::Milliseconds(100));
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), absl::Milliseconds(200));
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), absl::Milliseconds(300));
  EXPECT_EQ(retries.attempts(), 4);
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), std::nullopt);
  EXPECT_EQ(retries.attempts(), 4);
}

TEST(RetryTest, JitterShortensOurOwnWait) {
  RetryState retries(Policy(), absl::InfiniteFuture());
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0.5), absl::Milliseconds(75));
}

TEST(RetryTest, TheServersDelayIsNeverUndercut) {
  RetryState retries(Policy(), absl::InfiniteFuture());
  EXPECT_EQ(retries.OnFailure(Exhausted(absl::Seconds(2)), kStart, 0), absl::Seconds(2));
  EXPECT_EQ(retries.OnFailure(Exhausted(absl::Seconds(2)), kStart, 0.5), absl::Milliseconds(2500));
  // A shorter one leaves the back-off in force.
  EXPECT_EQ(retries.OnFailure(Exhausted(absl::Milliseconds(1)), kStart, 0),
            absl::Milliseconds(300));
}

TEST(RetryTest, OnlyUnavailableAndErrorsWithRetryInfoAreRetried) {
  for (int code = 1; code <= 16; ++code) {
    RetryState retries(Policy(), absl::InfiniteFuture());
    const absl::Status status(static_cast<absl::StatusCode>(code), "no");
    EXPECT_EQ(retries.OnFailure(status, kStart, 0).has_value(), absl::IsUnavailable(status))
        << status;
  }
}

TEST(RetryTest, NeverWaitsBeyondTheDeadline) {
  RetryState retries(Policy(), kStart + absl::Seconds(1));
  EXPECT_EQ(retries.OnFailure(Exhausted(absl::Seconds(1)), kStart, 0), std::nullopt);
  EXPECT_EQ(retries.OnFailure(Exhausted(absl::Milliseconds(999)), kStart, 0),
            absl::Milliseconds(999));
}

TEST(RetryTest, TimeLeftIsNeverNegative) {
  const RetryState retries(Policy(), kStart + absl::Seconds(1));
  EXPECT_EQ(retries.TimeLeft(kStart), absl::Seconds(1));
  EXPECT_EQ(retries.TimeLeft(kStart + absl::Seconds(3)), absl::ZeroDuration());
  const RetryState endless(Policy(), absl::InfiniteFuture());
  EXPECT_EQ(endless.TimeLeft(kStart), absl::InfiniteDuration());
}

TEST(RetryTest, AnotherHostIsNotWaitedFor) {
  RetryState retries(Policy(), kStart + absl::Seconds(1));
  retries.route().next = NextHost::kOther;
  EXPECT_EQ(retries.OnFailure(Exhausted(absl::Seconds(5)), kStart, 0), absl::ZeroDuration());
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), absl::ZeroDuration());
  // It is asked only what the first could have been asked again.
  EXPECT_EQ(retries.OnFailure(absl::InternalError("no"), kStart, 0), std::nullopt);
  RetryState once(Policy(), absl::InfiniteFuture(), /*is_idempotent=*/false);
  once.route().next = NextHost::kOther;
  EXPECT_EQ(once.OnFailure(kGone, kStart, 0), std::nullopt);
}

TEST(RetryTest, WhatCameToTheWrongHostHasNotRun) {
  RetryState retries({.max_attempts = 1}, absl::InfiniteFuture(), /*is_idempotent=*/false);
  retries.route().next = NextHost::kRightOne;
  EXPECT_EQ(retries.OnFailure(absl::FailedPreconditionError("elsewhere"), kStart, 0),
            absl::ZeroDuration());
  retries.StartOver();
  EXPECT_EQ(retries.route().next, NextHost::kSame);
}

TEST(RetryTest, TheRightHostIsFoundOnce) {
  const absl::Status elsewhere = absl::FailedPreconditionError("elsewhere");
  RetryState retries(Policy(), absl::InfiniteFuture());
  for (int call = 0; call < 2; ++call) {
    retries.route().next = NextHost::kRightOne;
    EXPECT_EQ(retries.OnFailure(elsewhere, kStart, 0), absl::ZeroDuration());
    EXPECT_EQ(retries.OnFailure(elsewhere, kStart, 0), std::nullopt);
    retries.StartOver();
  }
}

TEST(RetryTest, WhatAHostLacksAnotherIsAskedForAtOnce) {
  for (const NextHost next : {NextHost::kOther, NextHost::kNamed}) {
    // It has not run, so that holds for calls that must not run twice, too.
    for (const bool is_idempotent : {true, false}) {
      RetryState retries({.max_attempts = 3}, absl::InfiniteFuture(), is_idempotent);
      retries.route().next = next;
      EXPECT_EQ(retries.OnFailure(kUnknownOperator, kStart, 0), absl::ZeroDuration());
      EXPECT_EQ(retries.OnFailure(kUnknownOperator, kStart, 0), absl::ZeroDuration());
      EXPECT_EQ(retries.OnFailure(kUnknownOperator, kStart, 0), std::nullopt);
    }
  }
  RetryState late(Policy(), kStart);
  late.route().next = NextHost::kOther;
  EXPECT_EQ(late.OnFailure(kUnknownOperator, kStart, 0), std::nullopt);
}

TEST(RetryTest, WhatAllHostsLackIsFinal) {
  RetryState retries(Policy(), absl::InfiniteFuture());
  EXPECT_EQ(retries.OnFailure(kUnknownOperator, kStart, 0), std::nullopt);
}

TEST(RetryTest, WhatGrpcRefusesByItselfMayHaveRun) {
  const absl::Status unknown = absl::UnimplementedError("");
  for (const bool may_run_twice : {true, false}) {
    RetryState retries(Policy(), absl::InfiniteFuture(), may_run_twice);
    retries.route().next = NextHost::kOther;
    EXPECT_EQ(retries.OnFailure(unknown, kStart, 0).has_value(), may_run_twice);
  }
}

TEST(RetryTest, AHostOfANameThatIsGoneIsWaitedFor) {
  RetryState retries(Policy(), absl::InfiniteFuture());
  retries.route().next = NextHost::kNamed;
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), absl::Milliseconds(100));
}

TEST(RetryTest, TheErrorTellsWhatOtherHostsSaid) {
  RetryState retries(Policy(), absl::InfiniteFuture());
  retries.route().next = NextHost::kOther;
  const absl::Status refused = SaidBy("a:1", kUnknownOperator);
  for (const absl::Status& status :
       {refused, refused, SaidBy("b:2", kGone), SaidBy("c:3", absl::InternalError("no"))}) {
    retries.OnFailure(status, kStart, 0);
  }
  absl::Status last = SaidBy("c:3", absl::InternalError("no"));
  retries.AddOtherHosts(last);
  EXPECT_THAT(GetOtherHosts(last), ElementsAre("a:1: OPERATOR_NOT_FOUND", "b:2: UNAVAILABLE"));
  EXPECT_EQ(GetErrorHost(last), "c:3");

  // Of hosts that agree there is nothing to tell.
  absl::Status gone = SaidBy("d:4", kGone);
  RetryState alike(Policy(), absl::InfiniteFuture());
  alike.OnFailure(SaidBy("b:2", kGone), kStart, 0);
  alike.AddOtherHosts(gone);
  EXPECT_THAT(GetOtherHosts(gone), IsEmpty());
  // Nor of an earlier call.
  retries.StartOver();
  retries.AddOtherHosts(gone);
  EXPECT_THAT(GetOtherHosts(gone), IsEmpty());
}

TEST(RetryTest, OneAttemptMeansNoRetry) {
  RetryState retries({.max_attempts = 1}, absl::InfiniteFuture());
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), std::nullopt);
}

}  // namespace
}  // namespace opserve::client_internal
