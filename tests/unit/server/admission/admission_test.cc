#include "server/admission/admission.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;
using Usage = Admission::Usage;

TEST(AdmissionTest, CountsRequestsAndBytesUntilPermitsGo) {
  Admission admission({.max_requests = 3, .max_bytes = 100});
  {
    const auto first = admission.Admit("a", 60);
    ASSERT_TRUE(first.ok());
    const auto second = admission.Admit("a", 40);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(admission.usage(), (Usage{2, 100}));
  }
  EXPECT_EQ(admission.usage(), Usage());
}

TEST(AdmissionTest, RefusesOneRequestTooMany) {
  Admission admission({.max_requests = 1, .max_bytes = 100});
  const auto first = admission.Admit("a", 1);
  const auto second = admission.Admit("a", 1);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(second.status()), "TOO_MANY_REQUESTS");
  EXPECT_TRUE(MayRetry(second.status()));
  EXPECT_EQ(admission.usage(), (Usage{1, 1}));
}

TEST(AdmissionTest, RefusesOneByteTooMany) {
  Admission admission({.max_requests = 9, .max_bytes = 100});
  const auto first = admission.Admit("a", 60);
  const auto second = admission.Admit("a", 41);
  EXPECT_EQ(ReasonOf(second.status()), "TOO_MANY_BYTES");
  EXPECT_TRUE(MayRetry(second.status()));
  EXPECT_TRUE(admission.Admit("a", 40).ok());
}

TEST(AdmissionTest, RefusesForGoodWhatNeverFits) {
  Admission admission({.max_requests = 9, .max_bytes = 100});
  for (const uint64_t bytes : {uint64_t{101}, UINT64_MAX}) {
    const auto permit = admission.Admit("a", bytes);
    EXPECT_EQ(ReasonOf(permit.status()), "REQUEST_EXCEEDS_BUDGET") << bytes;
    EXPECT_FALSE(MayRetry(permit.status()));
  }
}

TEST(AdmissionTest, NoClientKeepsOthersOut) {
  Admission admission({.max_requests = 4,
                       .max_bytes = 100,
                       .max_requests_per_client = 2,
                       .max_bytes_per_client = 50});
  const auto first = admission.Admit("10.0.0.1", 30);
  ASSERT_TRUE(first.ok());
  const auto large = admission.Admit("10.0.0.1", 21);
  EXPECT_EQ(ReasonOf(large.status()), "TOO_MANY_BYTES");
  EXPECT_TRUE(MayRetry(large.status()));
  const auto second = admission.Admit("10.0.0.1", 20);
  ASSERT_TRUE(second.ok());
  const auto third = admission.Admit("10.0.0.1", 0);
  EXPECT_EQ(ReasonOf(third.status()), "TOO_MANY_REQUESTS");
  const auto other = admission.Admit("10.0.0.2", 50);
  EXPECT_TRUE(other.ok());
  const auto never = admission.Admit("10.0.0.3", 51);
  EXPECT_EQ(ReasonOf(never.status()), "REQUEST_EXCEEDS_BUDGET");
}

TEST(AdmissionTest, AClientMayHaveLessThanOthers) {
  Admission admission({.max_requests = 10, .max_bytes = 100});
  ShareLimits own;
  own.max_requests = 2;
  own.max_bytes = 50;
  EXPECT_EQ(ReasonOf(admission.Admit("a", 51, own).status()), "REQUEST_EXCEEDS_BUDGET");
  const auto first = admission.Admit("a", 30, own);
  EXPECT_EQ(ReasonOf(admission.Admit("a", 21, own).status()), "TOO_MANY_BYTES");
  const auto second = admission.Admit("a", 20, own);
  ASSERT_TRUE(second.ok());
  const auto third = admission.Admit("a", 0, own);
  EXPECT_EQ(ReasonOf(third.status()), "TOO_MANY_REQUESTS");
  EXPECT_TRUE(MayRetry(third.status()));
  EXPECT_TRUE(admission.Admit("b", 50).ok());
  // A limit that comes later may be below what is held.
  own.max_bytes = 10;
  own.max_requests = 10;
  EXPECT_EQ(ReasonOf(admission.Admit("a", 1, own).status()), "TOO_MANY_BYTES");
}

TEST(AdmissionTest, ClientsBeginRequestsAtTheirOwnRates) {
  SimulatedClock clock;
  Admission admission({.max_requests = 100, .max_bytes = 1000}, clock);
  ShareLimits own;
  own.requests_per_second = 2;
  own.bytes_per_second = 100;
  EXPECT_TRUE(admission.Admit("a", 10, own).ok());
  EXPECT_TRUE(admission.Admit("a", 10, own).ok());
  const auto refused = admission.Admit("a", 10, own).status();
  EXPECT_EQ(ReasonOf(refused), "RATE_EXCEEDED");
  const auto delay = Detail<rpc::RetryInfo>(refused, kRetryInfoUrl)->retry_delay();
  EXPECT_EQ(delay.seconds(), 0);
  EXPECT_EQ(delay.nanos(), 500'000'000);
  EXPECT_TRUE(admission.Admit("b", 10, own).ok());
  EXPECT_TRUE(admission.Admit("a", 10).ok());
  clock.Advance(std::chrono::milliseconds(499));
  EXPECT_FALSE(admission.Admit("a", 10, own).ok());
  clock.Advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(admission.Admit("a", 10, own).ok());

  // More than those of a second: as soon as none are owed, and then nothing for as long.
  clock.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(admission.Admit("a", 300, own).ok());
  clock.Advance(std::chrono::milliseconds(2099));
  EXPECT_EQ(ReasonOf(admission.Admit("a", 10, own).status()), "RATE_EXCEEDED");
  clock.Advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(admission.Admit("a", 10, own).ok());
}

TEST(AdmissionTest, DeviceTimeIsChargedWhenItHasBeenTaken) {
  SimulatedClock clock;
  Admission admission({.max_requests = 100}, clock);
  ShareLimits own;
  own.device_ms_per_second = 100;
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  // All of a second may come at once.
  admission.ChargeDeviceTime("a", std::chrono::milliseconds(100), own);
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  admission.ChargeDeviceTime("a", std::chrono::milliseconds(25), own);
  const absl::Status refused = admission.Admit("a", 0, own).status();
  EXPECT_EQ(ReasonOf(refused), "RATE_EXCEEDED");
  EXPECT_EQ(Detail<rpc::RetryInfo>(refused, kRetryInfoUrl)->retry_delay().nanos(), 250'000'000);
  EXPECT_TRUE(admission.Admit("b", 0, own).ok());
  EXPECT_TRUE(admission.Admit("a", 0).ok());
  clock.Advance(std::chrono::milliseconds(125));
  EXPECT_EQ(ReasonOf(admission.Admit("a", 0, own).status()), "RATE_EXCEEDED");
  clock.Advance(std::chrono::milliseconds(125));
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
}

TEST(AdmissionTest, RatesChangeWithThePolicy) {
  SimulatedClock clock;
  Admission admission({.max_requests = 100}, clock);
  ShareLimits own;
  own.requests_per_second = 1;
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  EXPECT_FALSE(admission.Admit("a", 0, own).ok());
  own.requests_per_second = 2;
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  EXPECT_FALSE(admission.Admit("a", 0, own).ok());
}

// Any of them makes it another limit, of which nothing is missing yet.
TEST(AdmissionTest, EachRateOfAPolicyMayChange) {
  SimulatedClock clock;
  Admission admission({.max_requests = 100}, clock);
  ShareLimits own{.requests_per_second = 1, .bytes_per_second = 10, .device_ms_per_second = 10};
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  EXPECT_FALSE(admission.Admit("a", 0, own).ok());
  own.bytes_per_second = 20;
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  EXPECT_FALSE(admission.Admit("a", 0, own).ok());
  own.device_ms_per_second = 20;
  EXPECT_TRUE(admission.Admit("a", 0, own).ok());
  EXPECT_FALSE(admission.Admit("a", 0, own).ok());
}

// As of two rules of a policy, one for the socket file and one for the network.
TEST(AdmissionTest, OneLimitOfAClientDoesNotMakeUpForAnother) {
  SimulatedClock clock;
  Admission admission({.max_requests = 100}, clock);
  const ShareLimits few{.requests_per_second = 1, .device_ms_per_second = 10};
  const ShareLimits more{.requests_per_second = 2};
  EXPECT_TRUE(admission.Admit("a", 0, few).ok());
  EXPECT_TRUE(admission.Admit("a", 0, more).ok());
  EXPECT_TRUE(admission.Admit("a", 0, more).ok());
  for (const ShareLimits& own : {few, more, few}) {
    EXPECT_EQ(ReasonOf(admission.CheckRoom("a", own)), "RATE_EXCEEDED");
    EXPECT_EQ(ReasonOf(admission.Admit("a", 0, own).status()), "RATE_EXCEEDED");
  }
  admission.ChargeDeviceTime("a", std::chrono::milliseconds(25), few);
  clock.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(admission.Admit("a", 0, more).ok());
  EXPECT_EQ(ReasonOf(admission.Admit("a", 0, few).status()), "RATE_EXCEEDED");
  clock.Advance(std::chrono::milliseconds(500));
  EXPECT_TRUE(admission.Admit("a", 0, few).ok());
}

TEST(AdmissionTest, RefusedRequestsAreNotCharged) {
  SimulatedClock clock;
  Admission admission({.max_requests = 1}, clock);
  ShareLimits own;
  own.requests_per_second = 1;
  const auto held = admission.Admit("b", 0);
  EXPECT_EQ(ReasonOf(admission.Admit("a", 0, own).status()), "TOO_MANY_REQUESTS");
  Admission other({.max_requests = 1}, clock);
  EXPECT_TRUE(other.Admit("a", 0, own).ok());
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(ReasonOf(other.Admit("a", 0, own).status()), "RATE_EXCEEDED");
  clock.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(other.Admit("a", 0, own).ok());
}

TEST(AdmissionTest, AClientHasItsShareAgainWhenItsPermitsGo) {
  Admission admission({.max_requests_per_client = 1});
  for (int i = 0; i < 3; ++i) {
    const auto permit = admission.Admit("a", 1);
    EXPECT_TRUE(permit.ok()) << i;
    EXPECT_FALSE(admission.Admit("a", 1).ok());
  }
  EXPECT_EQ(admission.usage(), Usage());
}

TEST(AdmissionTest, MovedPermitsCountOnce) {
  Admission admission({.max_requests = 2, .max_bytes = 100});
  Admission::Permit kept;
  {
    auto permit = admission.Admit("a", 10);
    kept = *std::move(permit);
    const Admission::Permit moved(std::move(kept));
    kept = Admission::Permit();
    EXPECT_EQ(admission.usage(), (Usage{1, 10}));
  }
  EXPECT_EQ(admission.usage(), Usage());
}

TEST(AdmissionTest, RefusesEverythingOnceClosed) {
  Admission admission({});
  admission.Close();
  const auto permit = admission.Admit("a", 1);
  EXPECT_EQ(permit.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(permit.status()), "DRAINING");
  EXPECT_TRUE(MayRetry(permit.status()));
}

TEST(AdmissionTest, WaitsForTheLastPermit) {
  Admission admission({});
  EXPECT_EQ(admission.WaitIdle(milliseconds(0)), Admission::Wait::kIdle);
  auto permit = admission.Admit("a", 1);
  EXPECT_EQ(admission.WaitIdle(milliseconds(1)), Admission::Wait::kTimedOut);
  std::thread releaser([&permit] { const Admission::Permit gone = *std::move(permit); });
  EXPECT_EQ(admission.WaitIdle(std::chrono::minutes(1)), Admission::Wait::kIdle);
  releaser.join();
}

TEST(AdmissionTest, AnInterruptEndsTheWait) {
  Admission admission({});
  const auto permit = admission.Admit("a", 1);
  std::thread interrupter([&admission] { admission.Interrupt(); });
  EXPECT_EQ(admission.WaitIdle(std::chrono::minutes(1)), Admission::Wait::kInterrupted);
  interrupter.join();
  admission.WaitQuiet(std::chrono::minutes(1), std::chrono::minutes(1));
}

TEST(AdmissionTest, QuietWaitsEndDespiteClientsThatNeverCease) {
  Admission admission({});
  admission.Close();
  std::atomic<bool> ended{false};
  std::thread client([&] {
    while (!ended) EXPECT_FALSE(admission.Admit("a", 1).ok());
  });
  admission.WaitQuiet(std::chrono::minutes(1), milliseconds(5));
  ended = true;
  client.join();
}

TEST(AdmissionTest, TellsWhetherThereIsRoomAndTakesNone) {
  Admission admission({.max_requests = 2, .max_bytes = 100});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(admission.CheckRoom("a").ok());
  EXPECT_EQ(admission.usage(), Usage());
  const auto first = admission.Admit("a", 99);
  EXPECT_TRUE(admission.CheckRoom("a").ok());
  const auto second = admission.Admit("a", 1);
  EXPECT_EQ(ReasonOf(admission.CheckRoom("b")), "TOO_MANY_REQUESTS");
  EXPECT_TRUE(MayRetry(admission.CheckRoom("b")));
}

TEST(AdmissionTest, HasNoRoomWhereNoByteIsLeft) {
  Admission admission({.max_requests = 9, .max_bytes = 200, .max_bytes_per_client = 100});
  const auto first = admission.Admit("a", 100);
  EXPECT_EQ(ReasonOf(admission.CheckRoom("a")), "TOO_MANY_BYTES");
  EXPECT_TRUE(admission.CheckRoom("b").ok());
  const auto second = admission.Admit("b", 100);
  EXPECT_EQ(ReasonOf(admission.CheckRoom("c")), "TOO_MANY_BYTES");
}

TEST(AdmissionTest, HasNoRoomForWhoIsTooFast) {
  SimulatedClock clock;
  Admission admission({}, clock);
  for (const ShareLimits& own :
       {ShareLimits{.requests_per_second = 1}, ShareLimits{.bytes_per_second = 10}}) {
    EXPECT_TRUE(admission.CheckRoom("a", own).ok());
    EXPECT_TRUE(admission.Admit("a", 10, own).ok());
    EXPECT_EQ(ReasonOf(admission.CheckRoom("a", own)), "RATE_EXCEEDED");
    EXPECT_TRUE(admission.CheckRoom("b", own).ok());
    clock.Advance(std::chrono::seconds(1));
    EXPECT_TRUE(admission.CheckRoom("a", own).ok());
  }
}

TEST(AdmissionTest, HasNoRoomForWhoHasTakenTooMuchOfDevices) {
  SimulatedClock clock;
  Admission admission({}, clock);
  const ShareLimits own{.device_ms_per_second = 100};
  EXPECT_TRUE(admission.Admit("a", 1, own).ok());
  admission.ChargeDeviceTime("a", milliseconds(150), own);
  EXPECT_EQ(ReasonOf(admission.CheckRoom("a", own)), "RATE_EXCEEDED");
  EXPECT_TRUE(admission.CheckRoom("b", own).ok());
  clock.Advance(milliseconds(500));
  EXPECT_TRUE(admission.CheckRoom("a", own).ok());
}

// Some hold something, some owe something, and the rest is forgotten when there are many.
TEST(AdmissionTest, ManyClientsComeAndGo) {
  SimulatedClock clock;
  Admission admission({.max_requests = 10'000}, clock);
  const ShareLimits own{.requests_per_second = 1};
  const auto held = admission.Admit("held", 7, own);
  ASSERT_TRUE(held.ok());
  for (int round = 0; round < 5; ++round) {
    EXPECT_TRUE(admission.Admit("owes", 0, own).ok());
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(admission.Admit(absl::StrCat(round, "-", i), 1, own).ok());
    }
    EXPECT_EQ(ReasonOf(admission.Admit("owes", 0, own).status()), "RATE_EXCEEDED");
    const Admission::ClientUsage clients = admission.LargestClients(10);
    ASSERT_EQ(clients.largest.size(), 1u);
    EXPECT_EQ(clients.largest[0].first, "held");
    EXPECT_EQ(clients.largest[0].second, (Usage{1, 7}));
    EXPECT_EQ(clients.others, Usage());
    clock.Advance(std::chrono::seconds(1));
  }
}

// Whatever it is that they owe.
TEST(AdmissionTest, DebtsAreNotForgottenWhereThereAreManyClients) {
  for (const ShareLimits& own :
       {ShareLimits{.bytes_per_second = 10}, ShareLimits{.device_ms_per_second = 10}}) {
    SimulatedClock clock;
    Admission admission({.max_requests = 10'000}, clock);
    EXPECT_TRUE(admission.Admit("owes", 10, own).ok());
    admission.ChargeDeviceTime("owes", milliseconds(30), own);
    for (int i = 0; i < 1000; ++i) {
      EXPECT_TRUE(admission.Admit(absl::StrCat(i), 0, {.requests_per_second = 1}).ok());
    }
    EXPECT_EQ(ReasonOf(admission.Admit("owes", 1, own).status()), "RATE_EXCEEDED");
  }
}

TEST(AdmissionTest, TellsWhoHoldsMost) {
  Admission admission({});
  const auto small = admission.Admit("small", 10);
  const auto large = admission.Admit("large", 30);
  const auto middle = admission.Admit("middle", 15);
  const auto more = admission.Admit("middle", 5);
  const Admission::ClientUsage clients = admission.LargestClients(2);
  EXPECT_THAT(clients.largest, ::testing::ElementsAre(::testing::Pair("large", Usage{1, 30}),
                                                      ::testing::Pair("middle", Usage{2, 20})));
  EXPECT_EQ(clients.others, (Usage{1, 10}));
}

TEST(AdmissionTest, HasNoRoomWhileItDrains) {
  Admission admission({.max_requests = 9, .max_bytes = 100});
  admission.Close();
  EXPECT_EQ(ReasonOf(admission.CheckRoom("a")), "DRAINING");
}

TEST(AdmissionTest, NeverExceedsItsLimitsUnderContention) {
  constexpr uint64_t kMostRequests = 3;
  Admission admission({.max_requests = kMostRequests, .max_bytes = 100});
  std::atomic<uint64_t> held{0};
  std::atomic<uint64_t> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) {
        const auto permit = admission.Admit("a", 10);
        if (!permit.ok()) continue;
        const uint64_t now = ++held;
        for (uint64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        --held;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, kMostRequests);
  EXPECT_EQ(admission.usage(), Usage());
}

}  // namespace
}  // namespace opserve::testing
