// What a page tells of faults that are over.

#include "server/metrics/device_history.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace opserve {
namespace {

absl::Time Noon() { return absl::FromUnixSeconds(1'700'000'000); }

DeviceStatus DeviceIn(DeviceState state, const std::string& reason = "") {
  DeviceStatus status;
  status.profile.name = "gpu0";
  status.state = state;
  status.reason = reason;
  return status;
}

TEST(DeviceHistory, KeepsFaultsThatAreOver) {
  DeviceHistory history(&Noon);
  for (const DeviceState state : {DeviceState::kStarting, DeviceState::kReady}) {
    history.Take({DeviceIn(state)});
  }
  EXPECT_TRUE(history.Latest().empty());
  history.Take({DeviceIn(DeviceState::kSuspect, "a run failed")});
  history.Take({DeviceIn(DeviceState::kSuspect, "a run failed")});
  history.Take({DeviceIn(DeviceState::kLost, "device removed")});
  history.Take({DeviceIn(DeviceState::kReady)});
  const auto faults = history.Latest();
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].state, DeviceState::kLost);
  EXPECT_EQ(faults[0].reason, "device removed");
  EXPECT_EQ(faults[1].state, DeviceState::kSuspect);
  EXPECT_EQ(faults[1].device, "gpu0");
  EXPECT_EQ(faults[1].time, Noon());
}

TEST(DeviceHistory, IsBounded) {
  DeviceHistory history;
  for (size_t i = 0; i < 2 * DeviceHistory::kMostFaults; ++i) {
    history.Take({DeviceIn(DeviceState::kLost, absl::StrCat(i))});
  }
  const auto faults = history.Latest();
  ASSERT_EQ(faults.size(), DeviceHistory::kMostFaults);
  EXPECT_EQ(faults.front().reason, absl::StrCat(2 * DeviceHistory::kMostFaults - 1));
}

}  // namespace
}  // namespace opserve
