// When a failed call is tried again, and after how long.

#include "client/rpc/retry.h"

#include "gtest/gtest.h"
#include "tests/unit/client/rpc/statuses.h"

namespace opserve::client_internal {
namespace {

using testing::Exhausted;
using testing::kGone;

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

TEST(RetryTest, OneAttemptMeansNoRetry) {
  RetryState retries({.max_attempts = 1}, absl::InfiniteFuture());
  EXPECT_EQ(retries.OnFailure(kGone, kStart, 0), std::nullopt);
}

}  // namespace
}  // namespace opserve::client_internal
