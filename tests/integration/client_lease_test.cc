// The client library and the verbs of the command about leases of GPUs, against a server whose GPU
// is scripted.

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/exit_code.h"
#include "gmock/gmock.h"
#include "tests/integration/scripted_gpu_fixture.h"
#include "tests/integration/wait_until.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class ClientLeaseTest : public ScriptedGpuFixture {
 protected:
  // The device that runs a call under this lease.
  std::string DeviceOf(const std::string& lease, DevicePreference device) {
    OperatorCall call = Round(ViewOf(values_));
    call.device_lease = lease;
    call.device = device;
    ExecutionInfo info;
    const auto result = client_->Execute(call, {}, &info);
    EXPECT_TRUE(result.ok()) << result.status();
    return info.device;
  }

  // The only lease that there is; one that is not held where there is none.
  DeviceLeaseInfo LeaseOrNone() {
    const auto leases = client_->ListLeases();
    EXPECT_TRUE(leases.ok()) << leases.status();
    return leases.ok() && !leases->empty() ? leases->front() : DeviceLeaseInfo();
  }
  // Waits until there is a lease, and what is wanted is so. Fails the test after a minute.
  template <class Wanted>
  DeviceLeaseInfo WaitForLease(const Wanted& is_wanted) {
    DeviceLeaseInfo lease;
    EXPECT_TRUE(WaitUntil([&] {
      lease = LeaseOrNone();
      return lease.number != 0 && is_wanted(lease);
    })) << "there is no such lease";
    return lease;
  }
  // Waits until there is no lease. False after a minute.
  bool WaitForNoLease() {
    return WaitUntil([this] { return LeaseOrNone().number == 0; });
  }

  const Floats values_ = {1.5f, 2.5f};
  SimulatedClock clock_{SteadyClock().Now()};
};

TEST_F(ClientLeaseTest, HasTheGpuUntilItIsGivenBack) {
  StartWithGpu();
  auto first = client_->LeaseDevice({.time = absl::Seconds(30), .label = "first"});
  const absl::StatusOr<DeviceGrant> grant = first->grant().Wait();
  ASSERT_TRUE(grant.ok()) << grant.status();
  EXPECT_EQ(grant->device, "null/0");
  EXPECT_LE(grant->time, absl::Seconds(30));
  EXPECT_EQ(first->state(), DeviceLease::State::kHeld);
  EXPECT_EQ(DeviceOf(grant->id, DevicePreference::kDefault), "null/0");
  EXPECT_GT(InfoOfGpu().lease_left, absl::Seconds(1));

  const auto second = client_->LeaseDevice({.device = "null/0"});
  while (second->position() == 0) {
  }
  EXPECT_EQ(second->position(), 1u);
  EXPECT_EQ(second->state(), DeviceLease::State::kWaiting);
  EXPECT_EQ(second->Renew().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(second->grant().WaitFor(absl::ZeroDuration()));

  const absl::StatusOr<absl::Duration> renewed = first->Renew(absl::Seconds(50));
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_GT(*renewed, absl::Seconds(40));
  const Call<void> end = first->end();
  first.reset();
  EXPECT_TRUE(end.Wait().ok());
  EXPECT_TRUE(second->grant().Wait().ok());
  EXPECT_EQ(second->position(), 0u);
}

TEST_F(ClientLeaseTest, TellsWhyThereIsNone) {
  StartWithGpu();
  EXPECT_EQ(client_->LeaseDevice({.device = "null/9"})->grant().Wait().status().code(),
            absl::StatusCode::kNotFound);
  const auto given_up = client_->LeaseDevice();
  ASSERT_TRUE(given_up->grant().Wait().ok());
  const auto waiting = client_->LeaseDevice();
  waiting->grant().Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiting->grant().Wait().status()));
  EXPECT_EQ(waiting->state(), DeviceLease::State::kEnded);
  const absl::Status renewed = waiting->Renew().status();
  EXPECT_TRUE(absl::IsNotFound(renewed)) << renewed;
  EXPECT_THAT(std::string(renewed.message()), HasSubstr("the lease has ended: "));
  const auto leases = client_->ListLeases();
  ASSERT_TRUE(leases.ok()) << leases.status();
  ASSERT_TRUE(client_->EndLease(leases->front().number).ok());
  EXPECT_TRUE(absl::IsAborted(given_up->end().Wait()));
  EXPECT_TRUE(absl::IsNotFound(given_up->Renew().status()));
}

TEST_F(ClientLeaseTest, CallsAboutLeasesAndDevicesCanBeStarted) {
  StartWithGpu();
  const auto lease = client_->LeaseDevice();
  const absl::StatusOr<DeviceGrant> grant = lease->grant().Wait();
  ASSERT_TRUE(grant.ok()) << grant.status();
  const auto renewed = client_->StartRenewLease(grant->id, absl::Seconds(50)).Wait();
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_GT(*renewed, absl::Seconds(40));
  const auto leases = client_->StartListLeases().Wait();
  ASSERT_TRUE(leases.ok()) << leases.status();
  ASSERT_THAT(*leases, SizeIs(1));
  EXPECT_TRUE(client_->StartEndLease(leases->front().number).Wait().ok());
  EXPECT_TRUE(absl::IsNotFound(client_->StartEndLease(leases->front().number).Wait()));

  EXPECT_TRUE(client_->StartSetDeviceAside("null/0", "a cable").Wait().ok());
  EXPECT_EQ(InfoOfGpu().state_reason, "a cable");
  const auto reports = client_->StartSelfTestDevices("null/9").Wait();
  EXPECT_TRUE(absl::IsNotFound(reports.status()));
  EXPECT_TRUE(client_->StartResumeDevice("null/0").Wait().ok());
  ASSERT_TRUE(WaitUntil([this] { return InfoOfGpu().state == DeviceInfo::State::kReady; }));
}

TEST_F(ClientLeaseTest, TheWaitForADrainedDeviceCanBeCancelled) {
  StartWithGpu();
  const std::shared_ptr<NullScript> script = gpu_.script();
  script->CloseGate();
  OperatorCall call = Round(ViewOf(values_));
  call.device = DevicePreference::kGpu;
  const Call<Tensor> running = client_->StartExecute(call);
  script->WaitForBlocked(1);
  const Call<void> drain = client_->StartDrainDevice("null/0", "a fan");
  EXPECT_TRUE(WaitUntil([this] { return InfoOfGpu().state_reason == "a fan"; }));
  drain.Cancel();
  EXPECT_TRUE(absl::IsCancelled(drain.Wait()));
  script->OpenGate();
  EXPECT_TRUE(running.Wait().ok());
  EXPECT_EQ(InfoOfGpu().state_reason, "a fan");
}

TEST_F(ClientLeaseTest, IsTakenFromTheEnvironment) {
  StartWithGpu();
  const auto lease = client_->LeaseDevice();
  const absl::StatusOr<DeviceGrant> grant = lease->grant().Wait();
  ASSERT_TRUE(grant.ok()) << grant.status();
  ASSERT_EQ(setenv("OPSERVE_LEASE", grant->id.c_str(), 1), 0);
  EXPECT_EQ(DeviceOf("", DevicePreference::kDefault), "null/0");
  EXPECT_EQ(DeviceOf("", DevicePreference::kGpu), "null/0");
  EXPECT_NE(DeviceOf("", DevicePreference::kCpu), "null/0");
  ASSERT_EQ(unsetenv("OPSERVE_LEASE"), 0);
  EXPECT_NE(DeviceOf("", DevicePreference::kDefault), "null/0");
}

TEST_F(ClientLeaseTest, CommandsRunUnderALease) {
  StartWithGpu();
  const auto run = [&](const std::string& script) {
    return Do(cli::LeaseArguments{.device = "gpu", .command = {"sh", "-c", script}});
  };
  EXPECT_EQ(run("test ${#OPSERVE_LEASE} -eq 32"), 0);
  EXPECT_EQ(run("exit 7"), 7);
  EXPECT_EQ(run("kill -9 $$"), 128 + 9);
  EXPECT_EQ(Do(cli::LeaseArguments{.device = "gpu", .command = {"/no/such/program"}}),
            cli::kFileError);
  EXPECT_EQ(Do(cli::LeaseArguments{.device = "null/9", .command = {"true"}}), cli::kCallFailed);
  // Each gave its lease back, which the server may hear of after what others ask it.
  EXPECT_TRUE(WaitForNoLease());
  EXPECT_EQ(Do(cli::LeasesArguments()), 0);
  EXPECT_THAT(out_.str(), HasSubstr("0 leases"));
}

TEST_F(ClientLeaseTest, ALeaseIsRenewedUntilItsCommandEnds) {
  StartWithGpu(&clock_);
  const std::string gate = PathOf("gate");
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  auto exit_code = std::async(std::launch::async, [&] {
    return Do(cli::LeaseArguments{.device = "gpu",
                                  .time = absl::Seconds(1),
                                  .command = {"sh", "-c", "read line < " + gate + "; exit 5"}});
  });
  const auto is_fresh = [](const DeviceLeaseInfo& info) {
    return info.held && info.left == absl::Seconds(1);
  };
  const uint64_t number = WaitForLease(is_fresh).number;
  clock_.Advance(std::chrono::milliseconds(700));
  WaitForLease(is_fresh);
  // It gets older than the second that was asked for.
  clock_.Advance(std::chrono::milliseconds(700));
  const DeviceLeaseInfo lease = WaitForLease(is_fresh);
  EXPECT_EQ(lease.number, number);
  EXPECT_EQ(lease.age, absl::Milliseconds(1400));
  std::ofstream(gate) << "go\n";
  EXPECT_EQ(exit_code.get(), 5);
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ClientLeaseTest, ACommandThatLosesItsLeaseIsToldAndFails) {
  StartWithGpu();
  const std::string script =
      absl::StrCat("trap 'kill $!; touch ", PathOf("told"), "; exit 5' TERM; sleep 60 & touch ",
                   PathOf("ready"), "; wait");
  auto exit_code = std::async(std::launch::async, [&] {
    return Do(cli::LeaseArguments{.device = "gpu", .command = {"sh", "-c", script}});
  });
  const uint64_t number = WaitForLease([&](const DeviceLeaseInfo&) {
                            return std::filesystem::exists(PathOf("ready"));
                          }).number;
  EXPECT_TRUE(client_->EndLease(number).ok());
  EXPECT_EQ(exit_code.get(), cli::kLeaseEnded);
  EXPECT_TRUE(std::filesystem::exists(PathOf("told")));
  EXPECT_THAT(err_.str(), HasSubstr("the lease ended before the command: an administrator ended"));
}

TEST_F(ClientLeaseTest, ALeaseThatIsRenewedNoFurtherEndsItsCommand) {
  options_.device_leases.max_time = std::chrono::seconds(1);
  StartWithGpu();
  EXPECT_EQ(Do(cli::LeaseArguments{
                .device = "gpu", .time = absl::Seconds(30), .command = {"sleep", "60"}}),
            cli::kLeaseEnded);
  EXPECT_THAT(err_.str(), HasSubstr("the server lends null/0 for at most"));
  EXPECT_THAT(err_.str(), HasSubstr("the time of the lease is over"));
}

TEST_F(ClientLeaseTest, ACommandThatLosesItsServerIsToldAndFails) {
  StartWithGpu();
  const std::string script = absl::StrCat("touch ", PathOf("ready"), "; exec sleep 60");
  auto exit_code = std::async(std::launch::async, [&] {
    return Do(cli::LeaseArguments{.device = "gpu", .command = {"sh", "-c", script}});
  });
  WaitForLease([&](const DeviceLeaseInfo&) { return std::filesystem::exists(PathOf("ready")); });
  server_.reset();
  EXPECT_EQ(exit_code.get(), cli::kLeaseEnded);
  EXPECT_THAT(err_.str(), HasSubstr("the lease ended before the command"));
}

TEST_F(ClientLeaseTest, AdministratorsHaveVerbs) {
  StartWithGpu();
  const auto lease = client_->LeaseDevice({.label = "a\tlabel"});
  ASSERT_TRUE(lease->grant().Wait().ok());
  EXPECT_EQ(Do(cli::LeasesArguments()), 0);
  EXPECT_THAT(out_.str(), HasSubstr("HELD"));
  EXPECT_THAT(out_.str(), HasSubstr("a\\tlabel"));
  const auto leases = client_->ListLeases();
  ASSERT_TRUE(leases.ok() && leases->size() == 1);
  EXPECT_EQ(Do(cli::EndLeaseArguments{.number = leases->front().number}), 0);
  EXPECT_EQ(Do(cli::EndLeaseArguments{.number = leases->front().number}), cli::kCallFailed);
  EXPECT_EQ(Do(cli::SetAsideArguments{.device = "null/0", .reason = "dust", .wait = true}), 0);
  EXPECT_EQ(InfoOfGpu().state, DeviceInfo::State::kSetAside);
  EXPECT_EQ(InfoOfGpu().state_reason, "dust");
  EXPECT_EQ(Do(cli::ResumeArguments{.device = "null/0"}), 0);
  EXPECT_EQ(InfoOfGpu().state, DeviceInfo::State::kReady);
  EXPECT_EQ(Do(cli::SetAsideArguments{.device = "null/9"}), cli::kCallFailed);
}

}  // namespace
}  // namespace opserve::testing
