// Clients that want a GPU for themselves for ever, against a server whose GPU is scripted.

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/device_lease_fixture.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::Each;
using ::testing::Eq;

// A base, so that it outlives the server, which is the fixture's.
struct LeaseTime {
  SimulatedClock clock{SteadyClock().Now()};
};

class LeaseHoardTest : protected LeaseTime, public DeviceLeaseTest {
 protected:
  static ServerOptions Limited(size_t per_client, std::chrono::seconds time) {
    ServerOptions options = OneByOneOptions();
    options.device_leases.max_per_client = per_client;
    options.device_leases.max_time = time;
    return options;
  }
};

TEST_F(LeaseHoardTest, ManyWaitersAreRefusedAndAllOthersKeepTheirTurns) {
  constexpr size_t kMost = 3;
  StartServer(1, Limited(kMost, std::chrono::minutes(1)));
  std::vector<std::unique_ptr<LeasingClient>> hoard;
  std::vector<std::string> refusals;
  for (int i = 0; i < 50; ++i) {
    auto client = std::make_unique<LeasingClient>(server().stub());
    if (hoard.size() < kMost) {
      // Each is there before the next one comes.
      ASSERT_TRUE(hoard.empty() ? client->WaitUntilGranted() : client->WaitUntilQueued());
      hoard.push_back(std::move(client));
    } else {
      refusals.push_back(ReasonOf(client->Finish()));
    }
  }
  EXPECT_THAT(refusals, Each(Eq("DEVICE_LEASE_QUOTA")));
  EXPECT_EQ(Leases().leases_size(), static_cast<int>(kMost));
  // They all go at once, and leave nothing behind.
  for (const auto& client : hoard) client->Cancel();
  hoard.clear();
  LeasingClient next(server().stub());
  EXPECT_TRUE(next.WaitUntilGranted());
}

TEST_F(LeaseHoardTest, RenewingEndsWithTheLongestTime) {
  StartServer(1, Limited(2, std::chrono::seconds(1)), &clock);
  LeasingClient holder(server().stub(), "", 86400);
  ASSERT_TRUE(holder.WaitUntilGranted());
  EXPECT_EQ(holder.event().granted().left_ms(), 1000u);
  LeasingClient next(server().stub());
  ASSERT_TRUE(next.WaitUntilQueued());
  // Again and again, until the lease is gone.
  v1::RenewLeaseResponse renewed;
  for (uint64_t left_ms = 1000; left_ms > 0; left_ms -= 100) {
    ASSERT_TRUE(Renew(holder.id(), 86400, renewed).ok());
    EXPECT_EQ(renewed.left_ms(), left_ms);
    clock.Advance(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(ReasonOf(Renew(holder.id(), 86400, renewed)), "DEVICE_LEASE_NOT_FOUND");
  EXPECT_EQ(holder.WaitUntilEnded(), v1::DEVICE_LEASE_END_EXPIRED);
  EXPECT_TRUE(next.WaitUntilGranted());
}

TEST_F(LeaseHoardTest, ForeignIdsOpenNothing) {
  StartServer(1);
  LeasingClient holder(server().stub());
  ASSERT_TRUE(holder.WaitUntilGranted());
  const std::string number = std::to_string(holder.event().granted().number());
  std::string other = holder.id();
  other.back() = other.back() == '0' ? '1' : '0';
  for (const std::string& id : {number, other, holder.id().substr(1), holder.id() + "0",
                                std::string(100'000, 'f'), std::string("\0", 1)}) {
    EXPECT_EQ(ReasonFor(OnGpu(1, id)), "DEVICE_LEASE_NOT_FOUND");
    if (id.size() > 1000) continue;
    v1::RenewLeaseResponse renewed;
    EXPECT_EQ(ReasonOf(Renew(id, 1, renewed)), "DEVICE_LEASE_NOT_FOUND");
    EXPECT_EQ(ReasonOf(Release(id)), "DEVICE_LEASE_NOT_FOUND");
  }
  EXPECT_EQ(RunOn(OnGpu(1, holder.id())), "null/0");
}

TEST_F(LeaseHoardTest, RequestsThatWaitGetTheGpuBetweenTwoLeases) {
  StartServer(1, Limited(4, std::chrono::seconds(1)), &clock);
  LeasingClient first(server().stub());
  ASSERT_TRUE(first.WaitUntilGranted());
  LeasingClient second(server().stub());
  ASSERT_TRUE(second.WaitUntilQueued());
  PendingCall other = server().Start(OnGpu(1));
  ASSERT_TRUE(WaitForPending(1));
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(first.WaitUntilEnded(), v1::DEVICE_LEASE_END_EXPIRED);
  EXPECT_EQ(other.Get().response.execution().device(), "null/0");
  // A quarter of the lease is the others'.
  clock.Advance(std::chrono::milliseconds(250));
  EXPECT_TRUE(second.WaitUntilGranted());
}

}  // namespace
}  // namespace opserve::testing
