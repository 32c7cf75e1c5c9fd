// Handles of calls under way, over a scripted transport and a clock that tests move.

#include "opserve/call_handle.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/api/scripted_client.h"
#include "tests/unit/client/rpc/statuses.h"

namespace opserve::client_internal {
namespace {

using testing::AutoAdvancingClock;
using testing::Fixture;
using testing::kCall;
using testing::kGone;
using testing::ManualClock;
using testing::ScriptedTransport;

TEST(CallTest, WaitsForTheResultAsOftenAsOneLikes) {
  Fixture f({kGone});
  const Call<Tensor> call = f.impl->Start(Execute(*f.impl, kCall, {}, Waiter::kNobody));
  EXPECT_TRUE(call.WaitFor(absl::ZeroDuration()));
  EXPECT_EQ(call.Wait()->bytes().size(), 2u);
  EXPECT_EQ(call.Wait()->bytes().data(), call.Wait()->bytes().data()) << "the same tensor";
  EXPECT_EQ(call.info().sends, 2);
  EXPECT_EQ(call.info().device, "cpu");
}

TEST(CallTest, CallbacksRunOnceBeforeAndAfterTheEnd) {
  Fixture f({});
  f.transport->answers_late = true;
  int calls = 0;
  const auto count = [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo& info) {
    EXPECT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(info.device, "cpu");
    ++calls;
  };
  const Call<Tensor> call = f.impl->Start(Execute(*f.impl, kCall, {}, Waiter::kNobody));
  call.Then(count);
  EXPECT_FALSE(call.WaitFor(absl::ZeroDuration()));
  EXPECT_EQ(calls, 0);
  f.transport->AnswerLate();
  EXPECT_EQ(calls, 1);
  call.Then(count);
  EXPECT_EQ(calls, 2);
}

TEST(CallTest, ACallbackAfterTheEndMayGiveUpTheLastHandle) {
  Fixture f({});
  std::optional<Call<Tensor>> call = f.impl->Start(Execute(*f.impl, kCall, {}, Waiter::kNobody));
  ASSERT_TRUE(call->WaitFor(absl::ZeroDuration()));
  std::string device;
  call->Then([&](const absl::StatusOr<Tensor>& /*output*/, const ExecutionInfo& info) {
    call.reset();
    device = info.device;
  });
  EXPECT_FALSE(call);
  EXPECT_EQ(device, "cpu");
}

TEST(CallTest, ACancelledAttemptIsNotRepeated) {
  Fixture f({});
  f.transport->answers_late = true;
  const Call<Tensor> call = f.impl->Start(Execute(*f.impl, kCall, {}, Waiter::kNobody));
  call.Cancel();
  EXPECT_TRUE(absl::IsCancelled(call.Wait().status()));
  EXPECT_EQ(call.info().sends, 1);
  call.Cancel();
  EXPECT_TRUE(absl::IsCancelled(call.Wait().status()));
}

TEST(CallTest, CancellingComesTooLateForAResult) {
  Fixture f({});
  const Call<Tensor> call = f.impl->Start(Execute(*f.impl, kCall, {}, Waiter::kNobody));
  call.Cancel();
  EXPECT_TRUE(call.Wait().ok());
}

TEST(CallTest, CancellingEndsTheWaitForTheNextAttempt) {
  AutoAdvancingClock unused;
  auto owned_clock = std::make_unique<ManualClock>();
  ManualClock& clock = *owned_clock;
  auto owned_transport =
      std::make_unique<ScriptedTransport>(unused, std::deque<absl::Status>{kGone, kGone});
  const ScriptedTransport& transport = *owned_transport;
  ClientImpl client({}, std::move(owned_transport), std::move(owned_clock));
  const Call<Tensor> cancelled = client.Start(Execute(client, kCall, {}, Waiter::kNobody));
  EXPECT_FALSE(cancelled.WaitFor(absl::ZeroDuration()));
  cancelled.Cancel();
  EXPECT_EQ(cancelled.Wait().status(), absl::CancelledError("the call was cancelled"));
  clock.Advance(absl::Seconds(10));
  EXPECT_EQ(transport.timeouts.size(), 1u) << "no further attempt";

  const Call<Tensor> patient = client.Start(Execute(client, kCall, {}, Waiter::kNobody));
  EXPECT_FALSE(patient.WaitFor(absl::ZeroDuration()));
  clock.Advance(absl::Seconds(10));
  EXPECT_TRUE(patient.Wait().ok());
}

TEST(CancellationTest, RunsTheActionOfTheMomentOnce) {
  Cancellation cancellation;
  int first = 0;
  int second = 0;
  cancellation.OnCancel([&] { ++first; });
  cancellation.OnCancel([&] { ++second; });
  EXPECT_FALSE(cancellation.is_cancelled());
  cancellation.Cancel();
  cancellation.Cancel();
  EXPECT_TRUE(cancellation.is_cancelled());
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  cancellation.OnCancel([&] { ++first; });
  EXPECT_EQ(first, 1) << "it was cancelled already";
}

}  // namespace
}  // namespace opserve::client_internal
