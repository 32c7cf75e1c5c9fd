// How many tensors calls look at: those of their client, and those at their end.

#include <chrono>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/resident/tensor_store.h"
#include "tests/unit/server/base/simulated_clock.h"
#include "tests/unit/server/resident/store_fixture.h"

namespace opserve::testing {
namespace {

using std::chrono::seconds;

class StoreWorkTest : public ::testing::Test {
 protected:
  static constexpr int kOthers = 5000;

  StoreWorkTest() {
    for (int i = 0; i < kOthers; ++i) Create("other/" + std::to_string(i % 50), seconds(1000 + i));
  }
  std::string Create(const std::string& client, seconds ttl) {
    const auto created = store_.Create(client, {.desc = Bytes(1), .ttl = ttl});
    EXPECT_TRUE(created.ok()) << created.status();
    return created->handle;
  }
  // Tensors that were looked at since the last call of this.
  uint64_t Visited() {
    const uint64_t before = visited_;
    visited_ = store_.visited();
    return visited_ - before;
  }

  SimulatedClock clock_;
  HostBufferPool buffers_{1 << 20};
  TensorStore store_{{.max_ttl = seconds(1000000)}, clock_, buffers_};
  uint64_t visited_ = 0;
};

TEST_F(StoreWorkTest, IsThatOfTheClientsOwnTensors) {
  const std::string mine = Create("me", seconds(100));
  const absl::string_view handles[] = {mine};
  Visited();
  EXPECT_EQ(store_.List("me").tensors.size(), 1);
  EXPECT_EQ(Visited(), 1);
  EXPECT_TRUE(store_.List("nobody").tensors.empty());
  EXPECT_EQ(Visited(), 0);
  EXPECT_TRUE(store_.Find("me", mine).ok());
  EXPECT_EQ(Visited(), 1);
  EXPECT_TRUE(store_.Renew("me", handles, seconds(200)).ok());
  EXPECT_EQ(Visited(), 1);
  EXPECT_EQ(store_.Delete("me", handles), 1);
  EXPECT_EQ(Visited(), 1);
}

// Renewed just before its end, again and again, a lease must not make the sweep look at all others.
TEST_F(StoreWorkTest, SweepsLookOnlyAtWhatHasEnded) {
  const std::string mine = Create("me", seconds(2));
  const absl::string_view handles[] = {mine};
  Visited();
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_TRUE(store_.Renew("me", handles, seconds(2)).ok());
    store_.Sweep();
  }
  EXPECT_EQ(Visited(), 10);
  clock_.Advance(seconds(2));
  store_.Sweep();
  EXPECT_EQ(Visited(), 1);
  clock_.Advance(seconds(1000 + 300) - seconds(12));
  store_.Sweep();
  EXPECT_EQ(Visited(), 301);
}

TEST_F(StoreWorkTest, ListsOfManyAreWhole) {
  std::vector<std::string> handles;
  for (size_t i = 0; i < 3 * kMaxTensorsPerLock; ++i) {
    handles.push_back(Create("me", seconds(100)));
  }
  const TensorList list = store_.List("me");
  ASSERT_EQ(list.tensors.size(), handles.size());
  for (size_t i = 0; i < handles.size(); ++i) EXPECT_EQ(list.tensors[i].handle, handles[i]);
  const std::vector<absl::string_view> all(handles.begin(), handles.end());
  EXPECT_TRUE(store_.Renew("me", all, seconds(500)).ok());
  clock_.Advance(seconds(400));
  EXPECT_EQ(store_.Delete("me", all), all.size());
}

}  // namespace
}  // namespace opserve::testing
