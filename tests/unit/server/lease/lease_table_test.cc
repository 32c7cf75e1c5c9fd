#include "server/lease/lease_table.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LeaseTableTest : public ::testing::Test {
 protected:
  uint64_t Add(LeaseTable& table, const std::string& client, const std::string& device = "",
               seconds wanted = seconds(60)) {
    LeaseTable::Refusal refusal{};
    return table.Add({client, client, "", device, wanted}, nullptr, now_, refusal)
        .value_or(kNoLease);
  }
  // Assigns devices and grants what can be, as a server would whose devices are idle.
  std::vector<uint64_t> GrantAll(LeaseTable& table) {
    table.Assign(devices_, now_);
    for (LeasableDevice& device : devices_) device.lease = table.LeaseOn(device.name);
    std::vector<uint64_t> granted;
    for (LeaseTable::Lease* const lease : table.Grantable(devices_)) {
      table.Grant(*lease, "id" + std::to_string(lease->number), now_);
      granted.push_back(lease->number);
    }
    return granted;
  }
  static std::vector<std::pair<uint64_t, size_t>> PlacesOf(LeaseTable& table) {
    std::vector<std::pair<uint64_t, size_t>> places;
    for (const auto& place : table.InOrder()) {
      places.emplace_back(place.lease->number, place.position);
    }
    return places;
  }
  static LeasableDevice Gpu(const std::string& name) {
    return {.name = name, .takes_jobs = true, .is_idle = true};
  }

  Clock::TimePoint now_ = Clock::TimePoint(std::chrono::hours(1));
  std::vector<LeasableDevice> devices_ = {Gpu("a")};
};

TEST_F(LeaseTableTest, TurnsGoByClientsBeforeTheyGoByAge) {
  LeaseTable table({});
  const uint64_t first = Add(table, "greedy");
  const uint64_t second = Add(table, "greedy");
  const uint64_t third = Add(table, "greedy");
  const uint64_t late = Add(table, "modest");
  EXPECT_THAT(GrantAll(table), ElementsAre(first));
  EXPECT_THAT(PlacesOf(table), ElementsAre(std::pair(first, 0), std::pair(late, 1),
                                           std::pair(second, 2), std::pair(third, 3)));
  table.Remove(first, now_);
  EXPECT_THAT(GrantAll(table), ElementsAre(late));
  table.Remove(late, now_);
  EXPECT_THAT(GrantAll(table), ElementsAre(second));
}

// They are forgotten between two leases, and must not come before those who waited meanwhile.
TEST_F(LeaseTableTest, ClientsThatLeaseInALoopKeepNobodyWaiting) {
  LeaseTable table({});
  std::map<uint64_t, std::string> clients;
  const auto add = [&](const std::string& client) { clients[Add(table, client)] = client; };
  // Two programs of one client.
  add("two");
  add("two");
  add("first");
  add("second");
  std::map<std::string, int> grants;
  for (int i = 0; i < 30; ++i) {
    const std::vector<uint64_t> granted = GrantAll(table);
    ASSERT_EQ(granted.size(), 1u);
    const std::string client = clients.at(granted[0]);
    ++grants[client];
    table.Remove(granted[0], now_);
    // The device goes to the next one before the client asks again.
    table.Assign(devices_, now_);
    if (client != "two") add(client);
  }
  EXPECT_EQ(grants["two"], 2);
  EXPECT_EQ(grants["first"], 14);
  EXPECT_EQ(grants["second"], 14);
}

TEST_F(LeaseTableTest, PositionsCountThoseThatWaitForTheSameDevice) {
  devices_ = {Gpu("a"), Gpu("b")};
  LeaseTable table({});
  const uint64_t on_a = Add(table, "1", "a");
  const uint64_t on_b = Add(table, "2", "b");
  EXPECT_THAT(GrantAll(table), ElementsAre(on_a, on_b));
  const uint64_t for_a = Add(table, "3", "a");
  const uint64_t for_b = Add(table, "4", "b");
  const uint64_t for_any = Add(table, "5");
  EXPECT_THAT(PlacesOf(table),
              ElementsAre(std::pair(on_a, 0), std::pair(on_b, 0), std::pair(for_a, 1),
                          std::pair(for_b, 1), std::pair(for_any, 3)));
}

TEST_F(LeaseTableTest, AClientHasSoManyAndAllWaitForSoMany) {
  LeaseTable table({.max_per_client = 2, .max_waiting = 3});
  LeaseTable::Refusal refusal{};
  const auto add = [&](const std::string& identity, const std::string& client = "") {
    return table.Add({identity, client, "", "", seconds(1)}, nullptr, now_, refusal).has_value();
  };
  EXPECT_TRUE(add("host", "host/1"));
  EXPECT_TRUE(add("host", "host/2"));
  // Names are free, so they are no clients of their own.
  EXPECT_FALSE(add("host", "host/3"));
  EXPECT_EQ(refusal, LeaseTable::Refusal::kClientIsFull);
  EXPECT_TRUE(add("second"));
  EXPECT_FALSE(add("third"));
  EXPECT_EQ(refusal, LeaseTable::Refusal::kAllAreFull);
  // One that is held does not wait.
  GrantAll(table);
  EXPECT_TRUE(add("third"));
}

TEST_F(LeaseTableTest, LeasesEndWhenTheirTimeIsOver) {
  LeaseTable table({.max_time = seconds(100)});
  const uint64_t number = Add(table, "client", "", seconds(60));
  GrantAll(table);
  EXPECT_EQ(table.next_change(now_), now_ + seconds(60));
  now_ += seconds(59);
  EXPECT_THAT(table.Expired(now_), IsEmpty());
  now_ += seconds(1);
  EXPECT_THAT(table.Expired(now_), ElementsAre(number));
}

TEST_F(LeaseTableTest, RenewalsEndWithTheLongestTime) {
  LeaseTable table({.max_time = seconds(100)});
  Add(table, "client", "", seconds(1000));
  GrantAll(table);
  LeaseTable::Lease& lease = *table.Find("id1", "client");
  const Clock::TimePoint granted = now_;
  EXPECT_EQ(lease.end, granted + seconds(100));
  for (int i = 0; i < 5; ++i) {
    now_ += seconds(30);
    EXPECT_EQ(table.Renew(lease, Clock::Duration::max(), now_), granted + seconds(100));
  }
}

TEST_F(LeaseTableTest, RenewalsShortenNothing) {
  LeaseTable table({.max_time = seconds(100)});
  Add(table, "client", "", seconds(50));
  GrantAll(table);
  LeaseTable::Lease& lease = *table.Find("id1", "client");
  EXPECT_EQ(table.Renew(lease, seconds(10), now_), now_ + seconds(50));
  EXPECT_EQ(table.Renew(lease, seconds(70), now_), now_ + seconds(70));
}

TEST_F(LeaseTableTest, ADeviceServesEverybodyBetweenTwoLeases) {
  LeaseTable table({});
  const uint64_t first = Add(table, "first");
  GrantAll(table);
  const uint64_t second = Add(table, "second");
  now_ += seconds(40);
  table.Remove(first, now_);
  devices_[0].has_pending = true;
  EXPECT_THAT(GrantAll(table), IsEmpty());
  EXPECT_EQ(table.LeaseOn("a"), kNoLease);
  EXPECT_EQ(table.next_change(now_), now_ + seconds(10));
  now_ += seconds(10);
  EXPECT_THAT(GrantAll(table), ElementsAre(second));
}

TEST_F(LeaseTableTest, ADeviceThatNobodyWaitsForDoesNotRest) {
  LeaseTable table({});
  const uint64_t first = Add(table, "first");
  GrantAll(table);
  const uint64_t second = Add(table, "second");
  now_ += seconds(40);
  table.Remove(first, now_);
  EXPECT_THAT(GrantAll(table), ElementsAre(second));
}

TEST_F(LeaseTableTest, IsGrantedOnceTheDeviceIsIdle) {
  LeaseTable table({});
  const uint64_t number = Add(table, "client");
  devices_[0].is_idle = false;
  EXPECT_THAT(GrantAll(table), IsEmpty());
  EXPECT_EQ(table.LeaseOn("a"), number);
  devices_[0].is_idle = true;
  EXPECT_THAT(GrantAll(table), ElementsAre(number));
}

TEST_F(LeaseTableTest, ALostDeviceIsWaitedForOnlyWhereThereIsNoOther) {
  LeaseTable table({});
  const uint64_t number = Add(table, "client");
  devices_[0].is_idle = false;
  GrantAll(table);
  devices_[0].takes_jobs = false;
  EXPECT_THAT(GrantAll(table), IsEmpty());
  EXPECT_EQ(table.LeaseOn("a"), kNoLease);
  devices_.push_back(Gpu("b"));
  EXPECT_THAT(GrantAll(table), ElementsAre(number));
  EXPECT_EQ(table.LeaseOn("b"), number);
}

TEST_F(LeaseTableTest, OnlyHeldLeasesAreFoundByTheirIds) {
  LeaseTable table({});
  Add(table, "client");
  EXPECT_EQ(table.Find("", "client"), nullptr);
  GrantAll(table);
  EXPECT_NE(table.Find("id1", "client"), nullptr);
  EXPECT_EQ(table.Find("id2", "client"), nullptr);
  table.Remove(1, now_);
  EXPECT_EQ(table.Find("id1", "client"), nullptr);
}

TEST_F(LeaseTableTest, AnIdIsOfTheIdentityThatAskedForTheLease) {
  LeaseTable table({});
  LeaseTable::Refusal refusal{};
  table.Add({"host", "host/1", "", "", seconds(60)}, nullptr, now_, refusal);
  GrantAll(table);
  // Names divide an identity, and prove nothing.
  EXPECT_NE(table.Find("id1", "host"), nullptr);
  for (const char* identity : {"host/1", "hos", "other", ""}) {
    EXPECT_EQ(table.Find("id1", identity), nullptr) << identity;
  }
}

}  // namespace
}  // namespace opserve::testing
