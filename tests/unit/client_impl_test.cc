// Deadlines and retries of whole calls, over a scripted transport and a clock that tests move.

#include "client/client_impl.h"

#include <atomic>
#include <deque>
#include <future>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client_statuses.h"

namespace opserve::client_internal {
namespace {

using ::testing::ElementsAre;
using testing::Exhausted;

// Time passes only while somebody waits for it.
class SimulatedClock final : public Clock {
 public:
  absl::Time Now() override { return now_; }
  void SleepFor(absl::Duration duration) override {
    waits.push_back(duration);
    now_ += duration;
  }
  void RunAfter(absl::Duration delay, std::function<void()> action) override {
    SleepFor(delay);
    action();
  }
  void Advance(absl::Duration duration) { now_ += duration; }

  std::vector<absl::Duration> waits;

 private:
  absl::Time now_ = absl::UnixEpoch();
};

v1::ExecuteResponse GoodResponse() {
  v1::ExecuteResponse response;
  response.mutable_output()->set_data_type(v1::DATA_TYPE_UINT8);
  response.mutable_output()->add_sizes(2);
  response.mutable_execution()->set_device("cpu");
  response.mutable_execution()->set_attempts(2);
  response.set_payload("ab");
  return response;
}

// Answers attempts with the statuses of a script, then with success.
class ScriptedTransport final : public Transport {
 public:
  ScriptedTransport(SimulatedClock& clock, std::deque<absl::Status> script)
      : clock_(clock), script_(std::move(script)) {}

  absl::Status Execute(const v1::ExecuteRequest&, absl::Duration timeout,
                       v1::ExecuteResponse& response) override {
    response = GoodResponse();
    return Next(timeout);
  }
  void ExecuteAsync(const v1::ExecuteRequest&, absl::Duration timeout,
                    v1::ExecuteResponse& response,
                    std::function<void(absl::Status)> done) override {
    response = GoodResponse();
    if (answers_late) return late_.push_back(std::move(done));
    done(Next(timeout));
  }
  absl::Status ListOperators(const v1::ListOperatorsRequest& request, absl::Duration timeout,
                             v1::ListOperatorsResponse& response) override {
    response.add_operators()->set_name(request.name());
    return Next(timeout);
  }
  absl::Status GetServerInfo(const v1::GetServerInfoRequest&, absl::Duration timeout,
                             v1::GetServerInfoResponse& response) override {
    response.set_version("1.2.3");
    return Next(timeout);
  }
  absl::Status SelfTestDevices(const v1::SelfTestDevicesRequest& request, absl::Duration timeout,
                               v1::SelfTestDevicesResponse& response) override {
    response.add_results()->set_device(request.device());
    return Next(timeout);
  }
  absl::StatusOr<HealthStatus> CheckHealth(absl::string_view, absl::Duration timeout) override {
    const absl::Status status = Next(timeout);
    if (!status.ok()) return status;
    return HealthStatus::kServing;
  }

  // Answers what was left unanswered. The transport may be gone after the last answer.
  void AnswerLate() {
    const auto late = std::move(late_);
    for (const auto& done : late) done(absl::OkStatus());
  }

  bool answers_late = false;
  std::vector<absl::Duration> timeouts;  // of each attempt
  absl::Duration time_per_attempt;

 private:
  absl::Status Next(absl::Duration timeout) {
    timeouts.push_back(timeout);
    clock_.Advance(time_per_attempt);
    if (script_.empty()) return absl::OkStatus();
    absl::Status status = script_.front();
    script_.pop_front();
    return status;
  }

  SimulatedClock& clock_;
  std::deque<absl::Status> script_;
  std::vector<std::function<void(absl::Status)>> late_;
};

struct Fixture {
  explicit Fixture(std::deque<absl::Status> script) {
    auto owned_clock = std::make_unique<SimulatedClock>();
    clock = owned_clock.get();
    auto owned_transport = std::make_unique<ScriptedTransport>(*clock, std::move(script));
    transport = owned_transport.get();
    ClientOptions options;
    options.default_timeout = absl::Seconds(10);
    options.retry = {.max_attempts = 3,
                     .initial_backoff = absl::Milliseconds(100),
                     .max_backoff = absl::Seconds(5),
                     .jitter = 0};
    impl =
        std::make_unique<ClientImpl>(options, std::move(owned_transport), std::move(owned_clock));
  }

  SimulatedClock* clock;
  ScriptedTransport* transport;
  std::unique_ptr<ClientImpl> impl;
};

const absl::Status kGone = absl::UnavailableError("gone");
const OperatorCall kCall = {.operator_name = "X"};

TEST(ClientImplTest, RetriesUntilItWorksAndCountsHowOftenItSent) {
  Fixture f({kGone, Exhausted(absl::Seconds(1))});
  ExecutionInfo info;
  const auto output = f.impl->Execute(kCall, {}, &info);
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
  ASSERT_TRUE(f.impl->Execute(kCall, {.timeout = absl::Seconds(6)}, nullptr).ok());
  EXPECT_THAT(f.transport->timeouts,
              ElementsAre(absl::Seconds(6), absl::Milliseconds(3900), absl::Milliseconds(1700)));
}

TEST(ClientImplTest, ReturnsTheLastErrorWhenAttemptsAreUsedUp) {
  Fixture f({kGone, kGone, absl::UnavailableError("still gone")});
  const auto output = f.impl->Execute(kCall, {}, nullptr);
  EXPECT_EQ(output.status(), absl::UnavailableError("still gone"));
  EXPECT_EQ(f.transport->timeouts.size(), 3u);
}

TEST(ClientImplTest, ReturnsTheErrorAtOnceWhereTheWaitWouldPassTheDeadline) {
  Fixture f({Exhausted(absl::Seconds(30))});
  const auto output = f.impl->Execute(kCall, {}, nullptr);
  EXPECT_EQ(output.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetRetryDelay(output.status()), absl::Seconds(30));
  EXPECT_TRUE(f.clock->waits.empty());
}

TEST(ClientImplTest, FinalErrorsAreNotRetried) {
  Fixture f({absl::InvalidArgumentError("no")});
  EXPECT_EQ(f.impl->Execute(kCall, {}, nullptr).status(), absl::InvalidArgumentError("no"));
  EXPECT_EQ(f.transport->timeouts.size(), 1u);
}

TEST(ClientImplTest, ACallMaySetItsOwnPolicy) {
  Fixture f({kGone});
  const CallOptions once = {.timeout = {}, .retry = RetryPolicy{.max_attempts = 1}};
  EXPECT_EQ(f.impl->Execute(kCall, once, nullptr).status(), kGone);
}

TEST(ClientImplTest, AsynchronousCallsRetryOnTheClock) {
  Fixture f({kGone, kGone});
  int calls = 0;
  f.impl->ExecuteAsync(kCall,
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
  f.impl->ExecuteAsync(
      kCall,
      [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) { status = output.status(); },
      {});
  EXPECT_EQ(status, kGone);
}

TEST(ClientImplTest, DestructionWaitsForCallsInFlight) {
  Fixture f({});
  f.transport->answers_late = true;
  std::atomic<bool> answered = false;
  f.impl->ExecuteAsync(
      kCall, [&](const absl::StatusOr<Tensor>&, const ExecutionInfo&) { answered = true; }, {});
  std::thread late([&] { f.transport->AnswerLate(); });
  f.impl.reset();
  EXPECT_TRUE(answered);
  late.join();
}

TEST(ClientImplTest, AContradictoryResponseIsDataLoss) {
  class BrokenTransport final : public Transport {
   public:
    absl::Status Execute(const v1::ExecuteRequest&, absl::Duration,
                         v1::ExecuteResponse& response) override {
      response = GoodResponse();
      response.set_payload("abc");
      return absl::OkStatus();
    }
    void ExecuteAsync(const v1::ExecuteRequest&, absl::Duration, v1::ExecuteResponse&,
                      std::function<void(absl::Status)> done) override {
      done(absl::OkStatus());  // with an empty response
    }
    absl::Status ListOperators(const v1::ListOperatorsRequest&, absl::Duration,
                               v1::ListOperatorsResponse&) override {
      return absl::OkStatus();
    }
    absl::Status GetServerInfo(const v1::GetServerInfoRequest&, absl::Duration,
                               v1::GetServerInfoResponse&) override {
      return absl::OkStatus();
    }
    absl::Status SelfTestDevices(const v1::SelfTestDevicesRequest&, absl::Duration,
                                 v1::SelfTestDevicesResponse&) override {
      return absl::OkStatus();
    }
    absl::StatusOr<HealthStatus> CheckHealth(absl::string_view, absl::Duration) override {
      return HealthStatus::kUnknown;
    }
  };
  ClientImpl impl({}, std::make_unique<BrokenTransport>(), std::make_unique<SimulatedClock>());
  EXPECT_EQ(impl.Execute(kCall, {}, nullptr).status().code(), absl::StatusCode::kDataLoss);
  absl::Status status;
  impl.ExecuteAsync(
      kCall,
      [&](const absl::StatusOr<Tensor>& output, const ExecutionInfo&) { status = output.status(); },
      {});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
}

TEST(ClientImplTest, OtherCallsRetryToo) {
  Fixture f({kGone});
  EXPECT_EQ(f.impl->GetServerInfo({})->version, "1.2.3");
  Fixture g({kGone});
  EXPECT_EQ(g.impl->ListOperators("ROUND", "", {})->operators[0].name, "ROUND");
  Fixture h({kGone});
  EXPECT_EQ(*h.impl->CheckHealth("", {}), HealthStatus::kServing);
  Fixture i({absl::InvalidArgumentError("no")});
  EXPECT_EQ(i.impl->SelfTestDevices("gpu", {}).status(), absl::InvalidArgumentError("no"));
  EXPECT_EQ(i.impl->SelfTestDevices("gpu", {})->front().device, "gpu");
}

TEST(ClientImplTest, AnyAnswerButSilenceMeansConnected) {
  EXPECT_TRUE(Fixture({}).impl->WaitForServer().ok());
  EXPECT_TRUE(Fixture({absl::UnimplementedError("no health")}).impl->WaitForServer().ok());
  EXPECT_EQ(Fixture({kGone}).impl->WaitForServer(), kGone);
  EXPECT_EQ(Fixture({absl::DeadlineExceededError("slow")}).impl->WaitForServer().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(SteadyClockTest, RunsActionsInTheOrderOfTheirTimes) {
  std::vector<int> order;
  std::promise<void> finished;
  const std::unique_ptr<Clock> clock = MakeSteadyClock();
  clock->RunAfter(absl::Milliseconds(20), [&] {
    order.push_back(2);
    finished.set_value();
  });
  clock->RunAfter(absl::ZeroDuration(), [&] { order.push_back(1); });
  finished.get_future().wait();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(SteadyClockTest, DestructionRunsWhatIsPending) {
  bool ran = false;
  MakeSteadyClock()->RunAfter(absl::Hours(1), [&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace opserve::client_internal
