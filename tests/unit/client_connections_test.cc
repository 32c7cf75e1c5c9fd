// Which connection a call takes, and what becomes of one that is given up. Nothing is sent.

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <set>

#include "client/connections.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace opserve::client_internal {
namespace {

using Call = Connections::Call;

// Keeps actions until they are asked for.
class HeldClock final : public Clock {
 public:
  absl::Time Now() override { return absl::UnixEpoch(); }
  void SleepFor(absl::Duration) override {}
  void RunAfter(absl::Duration, std::function<void()> action) override {
    actions_.push_back(std::move(action));
  }
  void RunAll() { std::exchange(actions_, {}); }

 private:
  std::vector<std::function<void()>> actions_;
};

class ConnectionsTest : public ::testing::Test {
 protected:
  Connections Make(int count) {
    return Connections(
        count,
        [this] {
          auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
          channels_.push_back(channel);
          return channel;
        },
        clock_);
  }
  static Call Begin(Connections& connections) {
    return connections.Begin(std::make_shared<grpc::ClientContext>());
  }

  HeldClock clock_;
  std::vector<std::weak_ptr<grpc::Channel>> channels_;
};

TEST_F(ConnectionsTest, CallsTakeTheConnectionWithTheFewest) {
  Connections connections = Make(3);
  Call a = Begin(connections);
  Call b = Begin(connections);
  Call c = Begin(connections);
  EXPECT_EQ((std::set{a.channel, b.channel, c.channel}).size(), 3u);
  grpc::Channel* const freed = b.channel;
  EXPECT_FALSE(connections.End(std::move(b)));
  Call d = Begin(connections);
  EXPECT_EQ(d.channel, freed);
  for (Call* call : {&a, &c, &d}) EXPECT_FALSE(connections.End(std::move(*call)));
}

TEST_F(ConnectionsTest, CallsOneAfterTheOtherKeepOneConnectionWarm) {
  Connections connections = Make(4);
  grpc::Channel* first = nullptr;
  for (int i = 0; i < 5; ++i) {
    Call call = Begin(connections);
    if (i == 0) first = call.channel;
    EXPECT_EQ(call.channel, first);
    connections.End(std::move(call));
  }
}

TEST_F(ConnectionsTest, AGivenUpConnectionIsReplacedAndLivesAsLongAsItsCalls) {
  Connections connections = Make(1);
  Call a = Begin(connections);
  Call b = Begin(connections);
  connections.GiveUp(a.connection);
  connections.GiveUp(a.connection);
  ASSERT_EQ(channels_.size(), 2u) << "replaced once";
  Call c = Begin(connections);
  EXPECT_EQ(c.channel, channels_[1].lock().get());
  EXPECT_TRUE(connections.End(std::move(a)));
  clock_.RunAll();
  EXPECT_FALSE(channels_[0].expired());
  EXPECT_TRUE(connections.End(std::move(b)));
  EXPECT_FALSE(channels_[0].expired()) << "the thread that ends a call must not destroy it";
  clock_.RunAll();
  EXPECT_TRUE(channels_[0].expired());
  EXPECT_FALSE(connections.End(std::move(c)));
  EXPECT_FALSE(channels_[1].expired());
}

TEST_F(ConnectionsTest, AnIdleConnectionCanBeGivenUp) {
  Connections connections = Make(2);
  Call call = Begin(connections);
  const uint64_t id = call.connection;
  connections.End(std::move(call));
  connections.GiveUp(id);
  clock_.RunAll();
  EXPECT_TRUE(channels_[0].expired());
  EXPECT_FALSE(channels_[1].expired());
  ASSERT_EQ(channels_.size(), 3u);
}

}  // namespace
}  // namespace opserve::client_internal
