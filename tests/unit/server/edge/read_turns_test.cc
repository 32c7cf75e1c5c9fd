// Which connection is read when, without any connection.

#include "server/edge/read_turns.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/edge/connection_table.h"

namespace opserve::testing {
namespace {

using std::chrono::milliseconds;

class ReadTurnsTest : public ::testing::Test {
 protected:
  using Connection = std::shared_ptr<EdgeConnection>;

  Connection Connect(const std::string& client) {
    auto connection = std::make_shared<EdgeConnection>(PeerIdentity(), 1, false, FrameLimits(),
                                                       std::make_shared<ClientTraffic>());
    EXPECT_TRUE(turns_.SetClient(*connection, client).empty());
    return connection;
  }

  // Two clients that have both read something in a round that is over.
  void Share(const Connection& one, const Connection& other) {
    EXPECT_TRUE(Read(one).may_read);
    EXPECT_TRUE(Read(other).may_read);
    ++round_;
  }

  ReadTurns::Answer Read(const Connection& connection) {
    return turns_.OnRead(*connection, round_, now_, [this] { return has_bytes_; });
  }

  Clock::TimePoint now_{std::chrono::hours(1)};
  uint64_t round_ = 1;
  bool has_bytes_ = true;
  ReadTurns turns_;
};

TEST_F(ReadTurnsTest, AClientAloneReadsAsItLikes) {
  const Connection a = Connect("a");
  const Connection b = Connect("a");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(Read(a).may_read);
    const ReadTurns::Answer answer = Read(b);
    EXPECT_TRUE(answer.may_read);
    EXPECT_EQ(answer.most_bytes, SIZE_MAX);
  }
}

TEST_F(ReadTurnsTest, AClientThatConnectsAnewIsAlone) {
  Connection a = Connect("a");
  EXPECT_TRUE(Read(a).may_read);
  // There before the other has gone, so that it cannot have that one's place in memory.
  const Connection b = Connect("b");
  EXPECT_TRUE(turns_.Leave(*a).empty());
  // gRPC finds that it has ended.
  EXPECT_TRUE(Read(a).may_read);
  EXPECT_TRUE(Read(b).may_read);
  EXPECT_EQ(Read(b).most_bytes, SIZE_MAX);
}

TEST_F(ReadTurnsTest, AClientThatIsKnownByItsFirstCallIsAlone) {
  const Connection other = Connect("token");
  const Connection a = Connect("127.0.0.1");
  EXPECT_TRUE(Read(a).may_read);
  EXPECT_TRUE(turns_.SetClient(*a, "token").empty());
  EXPECT_TRUE(Read(a).may_read);
  EXPECT_EQ(Read(a).most_bytes, SIZE_MAX);
}

TEST_F(ReadTurnsTest, ConnectionsOfAClientReadOneAfterTheOther) {
  const Connection greedy[] = {Connect("greedy"), Connect("greedy"), Connect("greedy")};
  const Connection modest = Connect("modest");
  Share(greedy[0], modest);

  const ReadTurns::Answer first = Read(greedy[0]);
  EXPECT_TRUE(first.may_read);
  EXPECT_LT(first.most_bytes, SIZE_MAX);
  EXPECT_EQ(first.to_wake, nullptr);
  const ReadTurns::Answer second = Read(greedy[1]);
  EXPECT_FALSE(second.may_read);
  EXPECT_EQ(second.to_wake, greedy[1]);
  const ReadTurns::Answer third = Read(greedy[2]);
  EXPECT_FALSE(third.may_read);
  // It follows the second.
  EXPECT_EQ(third.to_wake, nullptr);
  EXPECT_TRUE(Read(modest).may_read);

  ++round_;
  // Nobody overtakes one whose turn it is.
  EXPECT_FALSE(Read(greedy[0]).may_read);
  const ReadTurns::Answer woken = Read(greedy[1]);
  EXPECT_TRUE(woken.may_read);
  EXPECT_EQ(woken.to_wake, greedy[2]);
  EXPECT_TRUE(Read(modest).may_read);

  ++round_;
  EXPECT_EQ(Read(greedy[2]).to_wake, greedy[0]);
  ++round_;
  const ReadTurns::Answer last = Read(greedy[0]);
  EXPECT_TRUE(last.may_read);
  EXPECT_EQ(last.to_wake, nullptr);
}

TEST_F(ReadTurnsTest, WhoAsksAgainInItsRoundReadsInTheNext) {
  const Connection greedy = Connect("greedy");
  Share(greedy, Connect("modest"));
  EXPECT_TRUE(Read(greedy).may_read);
  const ReadTurns::Answer again = Read(greedy);
  EXPECT_FALSE(again.may_read);
  EXPECT_EQ(again.to_wake, greedy);
  const ReadTurns::Answer once_more = Read(greedy);
  EXPECT_FALSE(once_more.may_read);
  // Else nobody would, if gRPC asked because it was woken.
  EXPECT_EQ(once_more.to_wake, greedy);
  ++round_;
  EXPECT_TRUE(Read(greedy).may_read);
}

TEST_F(ReadTurnsTest, WhoHasNothingToReadDoesNotWait) {
  const Connection a = Connect("greedy");
  const Connection b = Connect("greedy");
  Share(a, Connect("modest"));
  EXPECT_TRUE(Read(a).may_read);
  has_bytes_ = false;
  EXPECT_TRUE(Read(b).may_read);
  has_bytes_ = true;
  EXPECT_FALSE(Read(b).may_read);
}

TEST_F(ReadTurnsTest, AfterASecondAClientIsAloneAgain) {
  const Connection a = Connect("greedy");
  const Connection b = Connect("greedy");
  Share(a, Connect("modest"));
  EXPECT_TRUE(Read(a).may_read);
  now_ += milliseconds(1000);
  EXPECT_TRUE(Read(b).may_read);
  EXPECT_EQ(Read(b).most_bytes, SIZE_MAX);
}

TEST_F(ReadTurnsTest, WhoWaitsIsCalledThoughNobodyElseIsThereAnyMore) {
  const Connection a = Connect("greedy");
  const Connection b = Connect("greedy");
  Share(a, Connect("modest"));
  EXPECT_TRUE(Read(a).may_read);
  EXPECT_EQ(Read(b).to_wake, b);
  now_ += std::chrono::hours(1);
  ++round_;
  EXPECT_TRUE(Read(a).may_read);
  EXPECT_TRUE(Read(b).may_read);
}

TEST_F(ReadTurnsTest, TheTurnOfOneThatLeavesIsTheNextOnes) {
  const Connection greedy[] = {Connect("greedy"), Connect("greedy"), Connect("greedy"),
                               Connect("greedy")};
  Share(greedy[0], Connect("modest"));
  for (const Connection& connection : greedy) Read(connection);
  // One that waits, and then the one whose turn it is. Each finds out at once that it has ended.
  EXPECT_EQ(turns_.Leave(*greedy[2]), ReadTurns::Connections{greedy[2]});
  EXPECT_EQ(turns_.Leave(*greedy[1]), (ReadTurns::Connections{greedy[1], greedy[3]}));
  EXPECT_TRUE(Read(greedy[1]).may_read);
  EXPECT_TRUE(Read(greedy[1]).may_read);
  ++round_;
  EXPECT_TRUE(Read(greedy[3]).may_read);
  // A call of it that ends later changes nothing.
  EXPECT_TRUE(turns_.SetClient(*greedy[1], "greedy").empty());
  EXPECT_TRUE(turns_.Leave(*greedy[1]).empty());
}

TEST_F(ReadTurnsTest, TurnsThatNobodyTakesAreTakenBack) {
  const Connection greedy[] = {Connect("greedy"), Connect("greedy"), Connect("greedy")};
  Share(greedy[0], Connect("modest"));
  for (const Connection& connection : greedy) Read(connection);
  EXPECT_TRUE(turns_.OnTick(now_ + milliseconds(99)).empty());
  EXPECT_EQ(turns_.OnTick(now_ + milliseconds(100)),
            (ReadTurns::Connections{greedy[1], greedy[2]}));
  ++round_;
  EXPECT_TRUE(Read(greedy[2]).may_read);
}

TEST_F(ReadTurnsTest, AConnectionIsOneOfWhoeverCallsOnIt) {
  const Connection a = Connect("127.0.0.1");
  const Connection b = Connect("127.0.0.1");
  Share(a, Connect("modest"));
  EXPECT_TRUE(Read(a).may_read);
  EXPECT_FALSE(Read(b).may_read);
  // Its place among the others is lost, so it has to be told.
  EXPECT_EQ(turns_.SetClient(*b, "token"), ReadTurns::Connections{b});
  EXPECT_TRUE(turns_.SetClient(*b, "token").empty());
  EXPECT_TRUE(Read(b).may_read);
}

}  // namespace
}  // namespace opserve::testing
