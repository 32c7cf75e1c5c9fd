// File: tests/unit/client/api/scripted_client.h
//
// A client over a scripted transport and a clock that tests move.

#ifndef OPSERVE_TESTS_UNIT_CLIENT_API_SCRIPTED_CLIENT_H_
#define OPSERVE_TESTS_UNIT_CLIENT_API_SCRIPTED_CLIENT_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/api/client_impl.h"
#include "client/api/execute.h"
#include "gtest/gtest.h"
#include "opserve/v1/operator_service.pb.h"
#include "tests/unit/client/stream/stream_fixture.h"
#include "tests/unit/client/wire/messages.h"

namespace opserve::testing {

using client_internal::Cancellation;
using client_internal::ClientClock;
using client_internal::ClientImpl;
using client_internal::OutgoingMessage;
using client_internal::RawStream;
using client_internal::ResponseMessage;
using client_internal::Route;
using client_internal::Transport;
using client_internal::Waiter;

// Time passes only while somebody waits for it.
class AutoAdvancingClock final : public ClientClock {
 public:
  absl::Time Now() override { return now_; }
  void SleepFor(absl::Duration duration) override {
    waits.push_back(duration);
    now_ += duration;
  }
  Key RunAfter(absl::Duration delay, std::function<void()> action) override {
    SleepFor(delay);
    action();
    return {};
  }
  void Cancel(const Key& /*key*/) override {}
  void Advance(absl::Duration duration) { now_ += duration; }

  std::vector<absl::Duration> waits;

 private:
  absl::Time now_ = absl::UnixEpoch();
};

// A call that the scripted server understands.
inline const OperatorCall kCall = {.operator_name = "X"};

inline v1::ExecuteResponse GoodResponse() {
  v1::ExecuteResponse response;
  response.mutable_output()->set_data_type(v1::DATA_TYPE_UINT8);
  response.mutable_output()->add_sizes(2);
  response.mutable_execution()->set_device("cpu");
  response.mutable_execution()->set_attempts(2);
  response.set_payload("ab");
  return response;
}

// What a method answers, with something of the request in it.
inline ResponseMessage GoodAnswer(std::string_view method, const OutgoingMessage& request) {
  if (method == "/opserve.v1.OperatorService/ListOperators") {
    v1::ListOperatorsRequest parsed;
    parsed.ParseFromString(request.header);
    v1::ListOperatorsResponse response;
    response.add_operators()->set_name(parsed.name());
    return ReceivedFrom(response);
  }
  if (method == "/opserve.v1.OperatorService/GetServerInfo") {
    v1::GetServerInfoResponse response;
    response.set_version("1.2.3");
    return ReceivedFrom(response);
  }
  if (method == "/opserve.v1.OperatorService/SelfTestDevices") {
    v1::SelfTestDevicesRequest parsed;
    parsed.ParseFromString(request.header);
    v1::SelfTestDevicesResponse response;
    response.add_results()->set_device(parsed.device());
    return ReceivedFrom(response);
  }
  if (method == "/grpc.health.v1.Health/Check") return ReceivedFrom("\x08\x01");
  EXPECT_EQ(method, "/opserve.v1.OperatorService/Execute");
  return ReceivedFrom(GoodResponse());
}

// Answers attempts with the statuses of a script, then with success.
class ScriptedTransport final : public Transport {
 public:
  ScriptedTransport(AutoAdvancingClock& clock, std::deque<absl::Status> script)
      : clock_(clock), script_(std::move(script)) {}

  absl::Status Call(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                    ResponseMessage& response, Route& /*route*/) override {
    if (on_attempt) on_attempt(method, request);
    absl::Status status = Next(timeout);
    if (!status.ok()) return status;
    response = AnswerTo(method, request);
    return status;
  }
  void CallAsync(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                 ResponseMessage& response, Route& route, Cancellation& cancellation,
                 std::function<void(absl::Status)> done) override {
    if (!answers_late) return done(Call(method, request, timeout, response, route));
    response = AnswerTo(method, request);
    late_.push_back(std::move(done));
    cancellation.OnCancel([this] { AnswerLate(absl::CancelledError("cancelled")); });
  }

  std::unique_ptr<RawStream> OpenStream(const char* method, absl::Duration timeout,
                                        const std::string& /*host*/, Route& /*route*/) override {
    timeouts.push_back(timeout);
    EXPECT_EQ(std::string_view(method), "/opserve.v1.OperatorService/ExecuteStream");
    auto opened = std::make_unique<ScriptedStream>();
    stream = opened.get();
    return opened;
  }

  // Answers what was left unanswered. The transport may be gone after the last answer.
  void AnswerLate(const absl::Status& status = absl::OkStatus()) {
    const auto late = std::exchange(late_, {});
    for (const auto& done : late) done(status);
  }

  // The stream that was opened last, which the test has to end.
  ScriptedStream* stream = nullptr;
  bool answers_late = false;
  std::optional<std::string> answer;     // bytes of every answer, instead of good ones
  std::vector<absl::Duration> timeouts;  // of each attempt
  absl::Duration time_per_attempt;
  // Hears of each attempt.
  std::function<void(const std::string& method, const OutgoingMessage& request)> on_attempt;
  // Bytes of answers by method, such as "CreateTensor", instead of good ones.
  std::map<std::string, std::function<std::string(const OutgoingMessage&)>> methods;

 private:
  ResponseMessage AnswerTo(const std::string& method, const OutgoingMessage& request) {
    if (answer) return ReceivedFrom(*answer);
    const auto found = methods.find(method.substr(method.rfind('/') + 1));
    return found == methods.end() ? GoodAnswer(method, request)
                                  : ReceivedFrom(found->second(request));
  }
  absl::Status Next(absl::Duration timeout) {
    timeouts.push_back(timeout);
    clock_.Advance(time_per_attempt);
    if (script_.empty()) return absl::OkStatus();
    absl::Status status = script_.front();
    script_.pop_front();
    return status;
  }

  AutoAdvancingClock& clock_;
  std::deque<absl::Status> script_;
  std::vector<std::function<void(absl::Status)>> late_;
};

// A client with three attempts and ten seconds per call, of a server on this machine or elsewhere.
struct Fixture {
  explicit Fixture(std::deque<absl::Status> script, bool is_local = false) {
    auto owned_clock = std::make_unique<AutoAdvancingClock>();
    clock = owned_clock.get();
    auto owned_transport = std::make_unique<ScriptedTransport>(*clock, std::move(script));
    transport = owned_transport.get();
    ClientOptions options;
    options.default_timeout = absl::Seconds(10);
    options.retry = {.max_attempts = 3,
                     .initial_backoff = absl::Milliseconds(100),
                     .max_backoff = absl::Seconds(5),
                     .jitter = 0};
    impl = std::make_unique<ClientImpl>(options, std::move(owned_transport), std::move(owned_clock),
                                        is_local);
  }

  absl::StatusOr<Tensor> Execute(const OperatorCall& call, const CallOptions& options,
                                 ExecutionInfo* info) const {
    return impl->Run(client_internal::Execute(*impl, call, options, Waiter::kCaller), info);
  }
  absl::StatusOr<TensorSpec> ExecuteInto(const OperatorCall& call, std::span<std::byte> output,
                                         const CallOptions& options, ExecutionInfo* info) const {
    return impl->Run(client_internal::ExecuteInto(*impl, call, output, options, Waiter::kCaller),
                     info);
  }
  absl::StatusOr<TensorSpec> ExecuteTo(const OperatorCall& call, const TensorPlace& output,
                                       const CallOptions& options, ExecutionInfo* info) const {
    return impl->Run(client_internal::ExecuteTo(*impl, call, output, options), info);
  }
  void ExecuteAsync(const OperatorCall& call, ExecuteCallback done,
                    const CallOptions& options) const {
    impl->Start(client_internal::Execute(*impl, call, options, Waiter::kNobody))
        .Then(std::move(done));
  }

  AutoAdvancingClock* clock;
  ScriptedTransport* transport;
  std::unique_ptr<ClientImpl> impl;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_CLIENT_API_SCRIPTED_CLIENT_H_
