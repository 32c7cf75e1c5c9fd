// When a lease is renewed, on a clock that tests move.

#include "client/api/lease_keeper.h"

#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/client/stream/stream_fixture.h"

namespace opserve::client_internal {
namespace {

// A keeper of a lease of 30 s, whose renewals tests answer.
class LeaseKeeperTest : public ::testing::Test {
 protected:
  void Pass(absl::Duration time) { clock_.Advance(time); }

  testing::ManualClock clock_;
  std::vector<LeaseKeeper::Renewed> renewals_;
  std::optional<LeaseKeeper> keeper_{
      std::in_place, clock_, absl::Seconds(30),
      [this](LeaseKeeper::Renewed renewed) { renewals_.push_back(std::move(renewed)); }};
};

TEST_F(LeaseKeeperTest, RenewsOnceAThirdHasPassed) {
  Pass(absl::Seconds(9));
  EXPECT_EQ(renewals_.size(), 0u);
  Pass(absl::Seconds(1));
  EXPECT_EQ(renewals_.size(), 1u);
  Pass(absl::Seconds(60));
  EXPECT_EQ(renewals_.size(), 1u) << "one at a time";
}

TEST_F(LeaseKeeperTest, TheNextRenewalFollowsWhatWasGranted) {
  Pass(absl::Seconds(10));
  renewals_.back()(absl::Seconds(6));
  Pass(absl::Seconds(1));
  EXPECT_EQ(renewals_.size(), 1u);
  Pass(absl::Seconds(1));
  EXPECT_EQ(renewals_.size(), 2u);
}

TEST_F(LeaseKeeperTest, AFailureIsTriedAgainBeforeTheLeaseEnds) {
  Pass(absl::Seconds(10));
  renewals_.back()(absl::UnavailableError("gone"));
  Pass(absl::Seconds(10));
  EXPECT_EQ(renewals_.size(), 2u);
}

TEST_F(LeaseKeeperTest, AfterOneThatTookItsTimeTheNextComesAtOnce) {
  Pass(absl::Seconds(10));
  Pass(absl::Seconds(4));
  renewals_.back()(absl::UnavailableError("gone"));
  Pass(absl::Seconds(6));
  ASSERT_EQ(renewals_.size(), 2u) << "a third after the one before began";
  Pass(absl::Seconds(9));
  renewals_.back()(absl::DeadlineExceededError("stuck"));
  EXPECT_EQ(renewals_.size(), 2u);
  Pass(absl::Seconds(1));
  EXPECT_EQ(renewals_.size(), 3u);
  Pass(absl::Seconds(12));
  renewals_.back()(absl::Seconds(30));
  Pass(absl::ZeroDuration());
  EXPECT_EQ(renewals_.size(), 4u);
}

TEST_F(LeaseKeeperTest, EndsWithItsTensor) {
  Pass(absl::Seconds(10));
  renewals_.back()(absl::NotFoundError("no such tensor"));
  EXPECT_EQ(clock_.pending(), 0u);
}

TEST_F(LeaseKeeperTest, NothingIsRenewedOnceItIsGone) {
  Pass(absl::Seconds(10));
  keeper_.reset();
  renewals_.back()(absl::Seconds(30));
  EXPECT_EQ(clock_.pending(), 0u) << "a late answer plans nothing";

  keeper_.emplace(clock_, absl::Seconds(30), [](const LeaseKeeper::Renewed&) { ADD_FAILURE(); });
  keeper_.reset();
  Pass(absl::Seconds(30));
}

}  // namespace
}  // namespace opserve::client_internal
