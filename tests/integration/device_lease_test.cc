// Devices that one client has to itself: whose requests run there, and who gets it next.

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "proto/base/mutex.h"
#include "tests/integration/device_lease_fixture.h"
#include "tests/integration/http_page.h"

namespace opserve::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Notes the first value of each call that a GPU runs.
class RunNotes {
 public:
  void Watch(NullScript& script) {
    script.OnRun([this](std::span<const DeviceCall> calls) {
      const MutexLock lock(mutex_);
      for (const DeviceCall& call : calls) {
        float value = 0;
        std::memcpy(&value, call.inputs[0].data(), sizeof value);
        values_.push_back(value);
      }
    });
  }
  std::vector<float> values() {
    const MutexLock lock(mutex_);
    return values_;
  }

 private:
  Mutex mutex_;
  std::vector<float> values_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(DeviceLeaseTest, OnlyRequestsWithTheLeaseRunOnTheDevice) {
  StartServer(1);
  RunNotes notes;
  notes.Watch(script(0));
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  EXPECT_EQ(holder.event().granted().device(), "null/0");
  EXPECT_GT(holder.event().granted().left_ms(), 50'000u);
  EXPECT_THAT(holder.id(), SizeIs(32));
  EXPECT_GT(InfoOf(0).lease_left_ms(), 50'000u);

  PendingCall other = server().Start(OnGpu(100));
  ASSERT_TRUE(WaitForPending(1));
  for (const float value : {1, 2, 3}) EXPECT_EQ(RunOn(OnGpu(value, holder.id())), "null/0");
  EXPECT_FALSE(other.done());
  // What may run anywhere waits for nobody.
  v1::ExecuteRequest automatic = RoundRequest({7});
  automatic.set_device(v1::DEVICE_PREFERENCE_AUTO);
  EXPECT_EQ(RunOn(automatic), cpu_name());

  ASSERT_TRUE(Release(holder.id()).ok());
  const Answer answer = other.Get();
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.response.execution().device(), "null/0");
  EXPECT_THAT(notes.values(), ElementsAre(1, 2, 3, 100));
  EXPECT_EQ(holder.WaitUntilEnded(), v1::DEVICE_LEASE_END_RELEASED);
  EXPECT_TRUE(holder.Finish().ok());
  EXPECT_EQ(InfoOf(0).lease_left_ms(), 0u);
}

TEST_F(DeviceLeaseTest, OthersGoToGpusThatAreNotLeased) {
  StartServer(2);
  LeasingClient holder(server().stub(), "null/0");
  ASSERT_TRUE(holder.WaitUntilGranted());
  // Also when it is each GPU's turn.
  for (int i = 0; i < 70; ++i) EXPECT_EQ(RunOn(OnGpu(1)), "null/1");
  EXPECT_EQ(RunOn(OnGpu(1, holder.id())), "null/0");
}

TEST_F(DeviceLeaseTest, IsGrantedOnceTheDeviceIsDone) {
  StartServer(1);
  script(0).CloseGate();
  PendingCall first = server().Start(OnGpu(1));
  script(0).WaitForBlocked(1);
  PendingCall second = server().Start(OnGpu(2));
  ASSERT_TRUE(WaitForPending(1));
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilQueued());
  EXPECT_EQ(holder.position(), 1u);
  script(0).OpenGate();
  ASSERT_TRUE(holder.WaitUntilGranted());
  EXPECT_TRUE(first.Get().status.ok());
  EXPECT_FALSE(second.done());
  holder.Cancel();
  EXPECT_TRUE(second.Get().status.ok());
}

TEST_F(DeviceLeaseTest, AClientThatIsGoneFreesTheDevice) {
  StartServer(1);
  LeasingClient first(server().stub());
  ASSERT_TRUE(first.WaitUntilGranted());
  LeasingClient second(server().stub());
  ASSERT_TRUE(second.WaitUntilQueued());
  LeasingClient third(server().stub());
  ASSERT_TRUE(third.WaitUntilQueued());
  EXPECT_EQ(second.position(), 1u);
  EXPECT_EQ(third.position(), 2u);
  // One that waits as well as one that holds.
  second.Cancel();
  ASSERT_TRUE(third.WaitUntilQueued());
  EXPECT_EQ(third.position(), 1u);
  first.Cancel();
  EXPECT_TRUE(third.WaitUntilGranted());
  EXPECT_EQ(ReasonFor(OnGpu(1, first.id())), "DEVICE_LEASE_NOT_FOUND");
}

TEST_F(DeviceLeaseTest, EndsWithItsTime) {
  StartServer(1);
  LeasingClient holder(server().stub(), "", /*time_s=*/1);
  ASSERT_TRUE(holder.WaitUntilGranted());
  PendingCall other = server().Start(OnGpu(1));
  EXPECT_EQ(holder.WaitUntilEnded(), v1::DEVICE_LEASE_END_EXPIRED);
  EXPECT_TRUE(other.Get().status.ok());
  v1::RenewLeaseResponse renewed;
  EXPECT_EQ(ReasonOf(Renew(holder.id(), 10, renewed)), "DEVICE_LEASE_NOT_FOUND");
  EXPECT_EQ(ReasonOf(Release(holder.id())), "DEVICE_LEASE_NOT_FOUND");
}

TEST_F(DeviceLeaseTest, IsRenewedAsFarAsItMayLast) {
  ServerOptions options = OneByOneOptions();
  options.device_leases.max_time = std::chrono::seconds(100);
  StartServer(1, options);
  EXPECT_EQ(Info().limits().max_device_lease_s(), 100u);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  v1::RenewLeaseResponse renewed;
  ASSERT_TRUE(Renew(holder.id(), 1'000'000, renewed).ok());
  EXPECT_LE(renewed.left_ms(), 100'000u);
  EXPECT_GT(renewed.left_ms(), 60'000u);
}

TEST_F(DeviceLeaseTest, RequestsOfOthersThatWaitKeepTheirDeadlines) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  const Answer late = server().Execute(OnGpu(1), std::chrono::milliseconds(50));
  EXPECT_EQ(late.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  PendingCall given_up = server().Start(OnGpu(1));
  ASSERT_TRUE(WaitForPending(1));
  given_up.TryCancel();
  EXPECT_EQ(given_up.Get().status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server().WaitForRequests(0));
}

TEST_F(DeviceLeaseTest, RunsSequencesAndStreamsToo) {
  StartServer(2);
  LeasingClient holder(server().stub(), "null/1");
  ASSERT_TRUE(holder.WaitUntilGranted());
  grpc::ClientContext context;
  const auto stream = server().stub().ExecuteStream(&context);
  v1::ExecuteStreamRequest message;
  message.set_id(1);
  *message.mutable_request() = OnGpu(1, holder.id());
  message.mutable_payloads()->Swap(message.mutable_request()->mutable_payloads());
  ASSERT_TRUE(stream->Write(message));
  v1::ExecuteStreamResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.response().execution().device(), "null/1");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());

  v1::ExecuteSequenceRequest sequence;
  const v1::ExecuteRequest round = OnGpu(1);
  *sequence.mutable_inputs() = round.inputs();
  *sequence.mutable_payloads() = round.payloads();
  sequence.set_device_lease(holder.id());
  v1::SequenceStep& step = *sequence.add_steps();
  step.set_operator_(round.operator_());
  *step.mutable_attributes() = round.attributes();
  step.add_inputs()->set_input(0);
  v1::ExecuteSequenceResponse results;
  ASSERT_TRUE(Call(&Stub::ExecuteSequence, sequence, results).ok());
  EXPECT_EQ(results.execution().device(), "null/1");
  sequence.set_device_lease("nobody's");
  EXPECT_EQ(ReasonOf(Call(&Stub::ExecuteSequence, sequence, results)), "DEVICE_LEASE_NOT_FOUND");
}

TEST_F(DeviceLeaseTest, RequestsThatWereAcceptedUnderALeaseOutliveIt) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  script(0).CloseGate();
  PendingCall running = server().Start(OnGpu(1, holder.id()));
  script(0).WaitForBlocked(1);
  PendingCall waiting = server().Start(OnGpu(2, holder.id()));
  ASSERT_TRUE(WaitForPending(1));
  ASSERT_TRUE(Release(holder.id()).ok());
  EXPECT_EQ(ReasonFor(OnGpu(3, holder.id())), "DEVICE_LEASE_NOT_FOUND");
  script(0).OpenGate();
  for (PendingCall* call : {&running, &waiting}) {
    const Answer answer = call->Get();
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.response.execution().device(), "null/0");
  }
}

TEST_F(DeviceLeaseTest, RequestsThatContradictTheirLeaseAreRefused) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  for (const auto device : {v1::DEVICE_PREFERENCE_CPU, v1::DEVICE_PREFERENCE_AUTO}) {
    v1::ExecuteRequest request = OnGpu(1, holder.id());
    request.set_device(device);
    EXPECT_EQ(ReasonFor(request), "INVALID_REQUEST");
  }
}

TEST_F(DeviceLeaseTest, OnlyGpusThatThereAreAreLeased) {
  StartServer(1);
  EXPECT_EQ(ReasonOf(LeasingClient(server().stub(), cpu_name()).Finish()), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(LeasingClient(server().stub(), "null/9").Finish()), "DEVICE_NOT_FOUND");
  EXPECT_EQ(ReasonOf(LeasingClient(server().stub(), "", 1, std::string(129, 'x')).Finish()),
            "INVALID_REQUEST");
  StartServer(0);
  EXPECT_EQ(ReasonOf(LeasingClient(server().stub()).Finish()), "DEVICE_UNAVAILABLE");
  ServerOptions off = OneByOneOptions();
  off.device_leases.is_on = false;
  StartServer(1, off);
  EXPECT_EQ(ReasonOf(LeasingClient(server().stub()).Finish()), "DEVICE_LEASES_OFF");
  EXPECT_EQ(Info().limits().max_device_lease_s(), 0u);
}

TEST_F(DeviceLeaseTest, IsNotTestedWhileItIsLeased) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  const uint64_t runs = script(0).run_count();
  v1::SelfTestDevicesResponse results;
  ASSERT_TRUE(Call(&Stub::SelfTestDevices, v1::SelfTestDevicesRequest(), results).ok());
  ASSERT_THAT(results.results(), SizeIs(1));
  EXPECT_FALSE(results.results(0).passed());
  EXPECT_EQ(script(0).run_count(), runs);
}

TEST_F(DeviceLeaseTest, ALostDeviceAnswersItsHolderElsewhere) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  script(0).LoseAtRun(1);
  EXPECT_EQ(RunOn(OnGpu(1, holder.id())), cpu_name());
  EXPECT_EQ(RunOn(OnGpu(2, holder.id())), cpu_name());
  EXPECT_TRUE(Release(holder.id()).ok());
}

TEST_F(DeviceLeaseTest, ADrainAnswersWhatWaitsForTheEndOfALease) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  LeasingClient next(server().stub());
  ASSERT_TRUE(next.WaitUntilQueued());
  PendingCall other = server().Start(OnGpu(1));
  ASSERT_TRUE(WaitForPending(1));
  // The drain is not over, and ends no streams, before both have heard of it.
  script(0).CloseGate();
  auto drain = std::async(std::launch::async,
                          [this] { return server().server().Drain(std::chrono::minutes(1)); });
  EXPECT_EQ(holder.WaitUntilEnded(), v1::DEVICE_LEASE_END_DRAINING);
  EXPECT_EQ(next.WaitUntilEnded(), v1::DEVICE_LEASE_END_DRAINING);
  script(0).OpenGate();
  EXPECT_TRUE(other.Get().status.ok());
  EXPECT_EQ(drain.get(), DrainResult::kComplete);
}

TEST_F(DeviceLeaseTest, AdministratorsSeeAndEndLeases) {
  StartServer(1);
  LeasingClient holder(server().stub(), "", 60, "timing of round");
  ASSERT_TRUE(holder.WaitUntilGranted());
  LeasingClient next(server().stub(), "null/0");
  ASSERT_TRUE(next.WaitUntilQueued());
  const v1::ListLeasesResponse leases = Leases();
  ASSERT_THAT(leases.leases(), SizeIs(2));
  EXPECT_TRUE(leases.leases(0).held());
  EXPECT_EQ(leases.leases(0).label(), "timing of round");
  EXPECT_EQ(leases.leases(0).client(), "127.0.0.1");
  EXPECT_EQ(leases.leases(0).device(), "null/0");
  EXPECT_EQ(leases.leases(1).position(), 1u);
  // What an administrator sees is not what runs requests.
  EXPECT_EQ(leases.DebugString().find(holder.id()), std::string::npos);

  v1::EndLeaseRequest request;
  request.set_number(leases.leases(0).number());
  v1::EndLeaseResponse response;
  ASSERT_TRUE(Administer(&v1::AdminService::Stub::EndLease, request, response).ok());
  EXPECT_EQ(holder.WaitUntilEnded(), v1::DEVICE_LEASE_END_BY_ADMIN);
  EXPECT_TRUE(next.WaitUntilGranted());
  EXPECT_EQ(ReasonOf(Administer(&v1::AdminService::Stub::EndLease, request, response)),
            "DEVICE_LEASE_NOT_FOUND");
}

TEST_F(DeviceLeaseTest, MetricsAndThePageTellOfLeases) {
  ServerOptions options = OneByOneOptions();
  options.metrics_listen = "127.0.0.1:0";
  StartServer(1, options);
  LeasingClient holder(server().stub(), "", 60, "timing of round");
  ASSERT_TRUE(holder.WaitUntilGranted());
  // What a client calls itself is seen on the page, and is no label.
  LeasingClient next(server().stub(), "null/0", 0, "", "", "runner 7");
  ASSERT_TRUE(next.WaitUntilQueued());
  const std::string metrics = GetPage(server().server().metrics_address(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr("\nopserve_leases{state=\"held\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\nopserve_leases{state=\"waiting\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\nopserve_client_leases{client=\"127.0.0.1\"} 2\n"));
  const std::string status = GetPage(server().server().metrics_address(), "/status.json");
  EXPECT_THAT(status, HasSubstr(R"("label":"timing of round")"));
  EXPECT_THAT(status, HasSubstr(R"("position":1)"));
  EXPECT_THAT(status, HasSubstr(R"("client":"127.0.0.1/runner 7")"));
  EXPECT_THAT(status, Not(HasSubstr(holder.id())));
}

// Without an audit log the same calls are answered by the threads that they were made in.
TEST_F(DeviceLeaseTest, DrainsAndSelfTestsHaveTheirLinesInTheAuditLog) {
  ServerOptions options = OneByOneOptions();
  options.audit_log = ::testing::TempDir() + "opserve-audit-of-leases-" + std::to_string(getpid());
  std::remove(options.audit_log.c_str());
  factory(0).PrepareScripts(
      [](NullScript& script) { script.SupportOnly(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32); });
  StartServer(1, options);
  v1::DrainDeviceRequest request;
  request.set_device("null/0");
  request.set_reason("new fan");
  v1::DrainDeviceResponse response;
  ASSERT_TRUE(Administer(&v1::AdminService::Stub::DrainDevice, request, response).ok());
  ASSERT_TRUE(Resume("null/0").ok());
  v1::SelfTestDevicesRequest test;
  test.set_device("null/0");
  v1::SelfTestDevicesResponse results;
  ASSERT_TRUE(Call(&Stub::SelfTestDevices, test, results).ok());
  ASSERT_THAT(results.results(), SizeIs(1));
  std::ifstream file(options.audit_log);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, HasSubstr(R"("client":"127.0.0.1","method":"DrainDevice","device":"null/0",)"
                              R"("note":"new fan","code":"OK"})"));
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, HasSubstr(R"("method":"ResumeDevice","device":"null/0","code":"OK"})"));
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_THAT(line, HasSubstr(R"("method":"SelfTestDevices","device":"null/0","code":"OK"})"));
  std::remove(options.audit_log.c_str());
}

TEST_F(DeviceLeaseTest, ADeviceThatIsSetAsideTakesNothingUntilItIsResumed) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  PendingCall other = server().Start(OnGpu(1));
  ASSERT_TRUE(WaitForPending(1));
  ASSERT_TRUE(SetAside("null/0", "fan is loud").ok());
  EXPECT_EQ(holder.WaitUntilEnded(), v1::DEVICE_LEASE_END_SET_ASIDE);
  EXPECT_EQ(other.Get().response.execution().device(), cpu_name());
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_SET_ASIDE);
  EXPECT_EQ(InfoOf(0).state_reason(), "fan is loud");
  EXPECT_EQ(RunOn(OnGpu(1)), cpu_name());
  EXPECT_TRUE(WaitForHealth(kGpuHealthName, Health::kNotServing));
  ASSERT_TRUE(Resume("null/0").ok());
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  EXPECT_EQ(InfoOf(0).state_reason(), "");
  EXPECT_EQ(RunOn(OnGpu(1)), "null/0");
  EXPECT_EQ(ReasonOf(SetAside(cpu_name(), "")), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(SetAside("null/9", "")), "DEVICE_NOT_FOUND");
  EXPECT_EQ(ReasonOf(SetAside("null/0", std::string(129, 'x'))), "INVALID_REQUEST");
  EXPECT_EQ(ReasonOf(Resume(cpu_name())), "INVALID_REQUEST");
}

TEST_F(DeviceLeaseTest, ADrainOfADeviceWaitsForItsWork) {
  StartServer(1);
  script(0).CloseGate();
  PendingCall running = server().Start(OnGpu(1));
  script(0).WaitForBlocked(1);
  v1::DrainDeviceRequest request;
  request.set_device("null/0");
  v1::DrainDeviceResponse response;
  // One that gives up leaves the device aside.
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  auto given_up = std::async(std::launch::async, [&] {
    v1::DrainDeviceResponse none;
    return admin().DrainDevice(&context, request, &none).error_code();
  });
  ASSERT_TRUE(WaitForState(0, v1::DEVICE_STATE_SET_ASIDE));
  context.TryCancel();
  EXPECT_EQ(given_up.get(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_SET_ASIDE);
  auto drain = std::async(std::launch::async, [&] {
    return Administer(&v1::AdminService::Stub::DrainDevice, request, response);
  });
  EXPECT_EQ(RunOn(OnGpu(2)), cpu_name());
  EXPECT_EQ(drain.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  script(0).OpenGate();
  EXPECT_TRUE(drain.get().ok());
  EXPECT_TRUE(running.Get().status.ok());
}

// Whether it is resumed before the drain waits or after.
TEST_F(DeviceLeaseTest, ADrainOfADeviceThatIsResumedEnds) {
  StartServer(1);
  script(0).CloseGate();
  PendingCall running = server().Start(OnGpu(1));
  script(0).WaitForBlocked(1);
  v1::DrainDeviceRequest request;
  request.set_device("null/0");
  v1::DrainDeviceResponse response;
  auto drain = std::async(std::launch::async, [&] {
    return Administer(&v1::AdminService::Stub::DrainDevice, request, response);
  });
  EXPECT_TRUE(WaitForState(0, v1::DEVICE_STATE_SET_ASIDE));
  EXPECT_TRUE(Resume("null/0").ok());
  const grpc::Status status = drain.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(status), "DEVICE_RESUMED");
  EXPECT_EQ(InfoOf(0).state(), v1::DEVICE_STATE_READY);
  script(0).OpenGate();
  EXPECT_TRUE(running.Get().status.ok());
}

}  // namespace
}  // namespace opserve::testing
