#include "server/lease/device_leases.h"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/errors/status_testing.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// GPUs that do what the test says.
class FakeDevices final : public LeasableDevices {
 public:
  explicit FakeDevices(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      devices_.push_back({.name = name, .takes_jobs = true, .is_idle = true});
    }
  }

  std::vector<LeasableDevice> List() const override { return devices_; }
  void Reserve(const std::string& device, uint64_t lease) override {
    EXPECT_EQ(Get(device).lease, kNoLease);
    Get(device).lease = lease;
  }
  void EndReservation(const std::string& device) override { Get(device).lease = kNoLease; }

  LeasableDevice& Get(const std::string& name) {
    for (LeasableDevice& device : devices_) {
      if (device.name == name) return device;
    }
    ADD_FAILURE() << "no device " << name;
    return devices_.front();
  }

 private:
  std::vector<LeasableDevice> devices_;
};

// Notes what it is told.
class Notes final : public LeaseListener {
 public:
  void OnQueued(size_t position) override {
    events.push_back("queued " + std::to_string(position));
  }
  void OnGranted(const GrantedLease& lease) override {
    id = lease.id;
    left = lease.left;
    events.push_back("granted " + lease.device);
  }
  void OnEnded(LeaseEnd why) override { events.push_back(std::string(NameOf(why))); }

  std::vector<std::string> events;
  std::string id;
  Clock::Duration left{};
};

class DeviceLeasesTest : public ::testing::Test {
 protected:
  std::shared_ptr<Notes> Ask(const std::string& client, const std::string& device = "",
                             seconds wanted = seconds(60)) {
    auto notes = std::make_shared<Notes>();
    EXPECT_TRUE(leases_.Ask({client, client, "", device, wanted}, notes).ok());
    leases_.Update(devices_);
    return notes;
  }

  SimulatedClock clock_;
  Logger logger_{LogFormat::kText, LogLevel::kOff};
  FakeDevices devices_{{"a", "b"}};
  DeviceLeases leases_{{.max_time = seconds(100)}, clock_, logger_};
};

TEST_F(DeviceLeasesTest, GrantsReservesAndFrees) {
  const auto notes = Ask("1", "b");
  EXPECT_THAT(notes->events, ElementsAre("granted b"));
  EXPECT_EQ(notes->left, seconds(60));
  EXPECT_EQ(devices_.Get("b").lease, *leases_.Find(notes->id, "1"));
  ASSERT_TRUE(leases_.Release(notes->id, "1").ok());
  EXPECT_EQ(ReasonOf(leases_.Find(notes->id, "1").status()), "DEVICE_LEASE_NOT_FOUND");
  leases_.Update(devices_);
  EXPECT_THAT(notes->events, ElementsAre("granted b", "released"));
  EXPECT_EQ(devices_.Get("b").lease, kNoLease);
}

TEST_F(DeviceLeasesTest, TellsPositionsWhenTheyChange) {
  const auto first = Ask("1", "a");
  const auto second = Ask("2", "a");
  const auto third = Ask("3", "a");
  EXPECT_THAT(third->events, ElementsAre("queued 2"));
  leases_.Update(devices_);
  EXPECT_THAT(third->events, ElementsAre("queued 2"));
  ASSERT_TRUE(leases_.Release(first->id, "1").ok());
  leases_.Update(devices_);
  EXPECT_THAT(second->events, ElementsAre("queued 1", "granted a"));
  EXPECT_THAT(third->events, ElementsAre("queued 2", "queued 1"));
}

TEST_F(DeviceLeasesTest, WaitsUntilTheDeviceIsIdle) {
  devices_.Get("a").is_idle = false;
  const auto notes = Ask("1", "a");
  EXPECT_THAT(notes->events, ElementsAre("queued 1"));
  EXPECT_NE(devices_.Get("a").lease, kNoLease);
  EXPECT_EQ(notes->id, "");
  devices_.Get("a").is_idle = true;
  leases_.Update(devices_);
  EXPECT_THAT(notes->events, ElementsAre("queued 1", "granted a"));
}

TEST_F(DeviceLeasesTest, EndsLeasesAtTheirTime) {
  const auto notes = Ask("1", "a", seconds(30));
  EXPECT_EQ(leases_.Update(devices_), clock_.Now() + seconds(30));
  clock_.Advance(seconds(30));
  // Also where nobody has come round to it.
  EXPECT_FALSE(leases_.Find(notes->id, "1").ok());
  EXPECT_FALSE(leases_.Renew(notes->id, "1", seconds(10)).ok());
  leases_.Update(devices_);
  EXPECT_THAT(notes->events, ElementsAre("granted a", "expired"));
  EXPECT_EQ(devices_.Get("a").lease, kNoLease);
}

TEST_F(DeviceLeasesTest, AnIdIsNothingToAnotherIdentity) {
  const auto notes = Ask("1", "a");
  const absl::Status unknown = leases_.Find("unknown", "2").status();
  EXPECT_EQ(ReasonOf(unknown), "DEVICE_LEASE_NOT_FOUND");
  // Not a word tells them apart.
  EXPECT_EQ(leases_.Find(notes->id, "2").status(), unknown);
  EXPECT_EQ(leases_.Renew(notes->id, "2", seconds(90)).status(), unknown);
  EXPECT_EQ(leases_.Release(notes->id, "2"), unknown);
  const std::vector<DeviceLeaseView> list = leases_.List();
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].left, seconds(60));
  EXPECT_THAT(notes->events, ElementsAre("granted a"));
  EXPECT_TRUE(leases_.Find(notes->id, "1").ok());
}

TEST_F(DeviceLeasesTest, RenewalsGiveTime) {
  const auto notes = Ask("1", "a", seconds(30));
  clock_.Advance(seconds(20));
  EXPECT_EQ(*leases_.Renew(notes->id, "1", seconds(50)), seconds(50));
  clock_.Advance(seconds(49));
  leases_.Update(devices_);
  EXPECT_TRUE(leases_.Find(notes->id, "1").ok());
  // 69 of 100 seconds are over.
  EXPECT_EQ(*leases_.Renew(notes->id, "1", seconds(1000)), seconds(31));
}

TEST_F(DeviceLeasesTest, ADeviceThatIsSetAsideHasNoLease) {
  const auto notes = Ask("1", "a");
  devices_.Get("a").is_set_aside = true;
  devices_.Get("a").takes_jobs = false;
  leases_.Update(devices_);
  EXPECT_THAT(notes->events, ElementsAre("granted a", "device set aside"));
}

TEST_F(DeviceLeasesTest, ALostDeviceStaysLeased) {
  const auto notes = Ask("1", "a");
  devices_.Get("a").takes_jobs = false;
  leases_.Update(devices_);
  EXPECT_THAT(notes->events, ElementsAre("granted a"));
  EXPECT_NE(devices_.Get("a").lease, kNoLease);
}

TEST_F(DeviceLeasesTest, WhoIsGoneWaitsNoMore) {
  const auto held = Ask("1", "a");
  const auto waiting = Ask("2", "a");
  const std::vector<DeviceLeaseView> list = leases_.List();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_TRUE(list[0].is_held);
  EXPECT_EQ(list[1].position, 1u);
  ASSERT_TRUE(leases_.End(list[1].number, LeaseEnd::kByAdmin).ok());
  EXPECT_FALSE(leases_.End(list[1].number, LeaseEnd::kByAdmin).ok());
  EXPECT_THAT(waiting->events, ElementsAre("queued 1", "ended by an administrator"));
  ASSERT_TRUE(leases_.Release(held->id, "1").ok());
  leases_.Update(devices_);
  EXPECT_THAT(leases_.List(), IsEmpty());
}

TEST_F(DeviceLeasesTest, NothingIsLeftOnceClosed) {
  const auto held = Ask("1", "a");
  const auto waiting = Ask("2", "a");
  leases_.Close();
  leases_.Update(devices_);
  EXPECT_THAT(held->events, ElementsAre("granted a", "draining"));
  EXPECT_THAT(waiting->events, ElementsAre("queued 1", "draining"));
  EXPECT_EQ(devices_.Get("a").lease, kNoLease);
  EXPECT_EQ(ReasonOf(leases_.Ask({"1", "1", "", "", seconds(1)}, held).status()), "DRAINING");
}

TEST_F(DeviceLeasesTest, CanBeSwitchedOff) {
  DeviceLeases off({.is_on = false}, clock_, logger_);
  const auto notes = std::make_shared<Notes>();
  EXPECT_EQ(ReasonOf(off.Ask({"1", "1", "", "", seconds(1)}, notes).status()), "DEVICE_LEASES_OFF");
}

}  // namespace
}  // namespace opserve::testing
