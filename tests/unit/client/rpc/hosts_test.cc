// Which host a call goes to, and where it goes when that fails. Nothing is sent.

#include "client/rpc/hosts.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/base/status_details.h"
#include "gtest/gtest.h"
#include "opserve/errors.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::client_internal {
namespace {

constexpr HostState kReady = HostState::kReady;
constexpr HostState kConnecting = HostState::kConnecting;
constexpr HostState kFailed = HostState::kFailed;

TEST(ChooseHostTest, HostsTakeTurns) {
  const std::vector<HostLoad> hosts(3);
  EXPECT_EQ(ChooseHost(hosts, 0), 0u);
  EXPECT_EQ(ChooseHost(hosts, 1), 1u);
  EXPECT_EQ(ChooseHost(hosts, 2), 2u);
  EXPECT_EQ(ChooseHost(hosts, 3), 0u);
}

TEST(ChooseHostTest, AHostThatIsBehindIsLeftOut) {
  EXPECT_EQ(ChooseHost({{kReady, kMostLead - 1}, {kReady, 0}}, 0), 0u);
  EXPECT_EQ(ChooseHost({{kReady, kMostLead}, {kReady, 0}}, 0), 1u);
  // Compared with those that could take its place alone.
  EXPECT_EQ(ChooseHost({{kReady, 9}, {kFailed, 0}}, 0), 0u);
}

TEST(ChooseHostTest, HostsThatAreReadyComeFirst) {
  EXPECT_EQ(ChooseHost({{kConnecting}, {kReady}, {kFailed}}, 0), 1u);
  EXPECT_EQ(ChooseHost({{kFailed}, {kConnecting}}, 0), 1u);
  EXPECT_EQ(ChooseHost({{kFailed}, {kFailed}}, 1), 1u);
}

TEST(ChooseHostTest, ACallComesBackToAHostOnlyWhereNoOtherCanBeReached) {
  EXPECT_EQ(ChooseHost({{kReady, 0, true}, {kReady}}, 0), 1u);
  EXPECT_EQ(ChooseHost({{kReady, 0, true}, {kConnecting}}, 0), 1u);
  EXPECT_EQ(ChooseHost({{kReady, 0, true}, {kFailed}}, 0), 0u);
}

// As a server says it that is asked for what the host `right` has.
absl::Status WrongHostError(const std::string& right) {
  rpc::ErrorInfo info;
  info.set_reason(kWrongHost);
  (*info.mutable_metadata())["host"] = right;
  absl::Status status = absl::FailedPreconditionError("elsewhere");
  status.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

// Hosts without channels, which counts the addresses that it was told to connect to.
struct UnconnectedHosts {
  explicit UnconnectedHosts(const std::vector<std::string>& addresses)
      : hosts(addresses, [this](const std::string& address, bool is_among_several) {
          std::vector<ClientConnection> made;
          if (address == forbidden) return made;
          connected[address] = is_among_several;
          made.emplace_back();
          made.back().sockets = std::make_shared<Sockets>(/*is_local=*/true);
          made.back().target = address;
          return made;
        }) {}

  // Where a call for `name` goes.
  std::string TargetFor(const std::string& name = {}) {
    Route route;
    const ClientConnection& connection = hosts.Begin(name, route);
    hosts.End(connection);
    return connection.target;
  }

  std::map<std::string, bool> connected;
  std::string forbidden = "evil:1";
  Hosts hosts;
};

TEST(HostsTest, OneAddressIsOneHostUnlessItIsAName) {
  EXPECT_FALSE(UnconnectedHosts({"a:1"}).hosts.has_several());
  EXPECT_TRUE(UnconnectedHosts({"dns:///a:1"}).hosts.has_several());
  EXPECT_TRUE(UnconnectedHosts({"a:1", "b:2"}).hosts.has_several());
  EXPECT_EQ(UnconnectedHosts({"a:1"}).connected, (std::map<std::string, bool>{{"a:1", false}}));
  EXPECT_EQ(UnconnectedHosts({"a:1", "b:2"}).connected,
            (std::map<std::string, bool>{{"a:1", true}, {"b:2", true}}));
}

TEST(HostsTest, CallsGoToAllInTurn) {
  UnconnectedHosts fixture({"a:1", "b:2", "c:3"});
  std::map<std::string, int> calls;
  for (int i = 0; i < 9; ++i) ++calls[fixture.TargetFor()];
  EXPECT_EQ(calls, (std::map<std::string, int>{{"a:1", 3}, {"b:2", 3}, {"c:3", 3}}));
}

TEST(HostsTest, OnlyCallsThatLastKeepOthersAway) {
  UnconnectedHosts fixture({"a:1", "b:2"});
  for (int i = 0; i < 2 * kMostLead; ++i) EXPECT_EQ(fixture.TargetFor("a:1"), "a:1");
  EXPECT_EQ(fixture.TargetFor(), "a:1");
  std::vector<Route> lasting(2 * kMostLead);
  for (Route& route : lasting) fixture.hosts.Begin("a:1", route);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(fixture.TargetFor(), "b:2");
}

TEST(HostsTest, ACallThatFailsMeetsEachHostOnceBeforeItComesBack) {
  UnconnectedHosts fixture({"a:1", "b:2", "c:3"});
  Route route;
  std::map<std::string, int> calls;
  // The next round is like the first.
  for (const NextHost next : {NextHost::kOther, NextHost::kOther, NextHost::kSame, NextHost::kOther,
                              NextHost::kOther, NextHost::kSame}) {
    const ClientConnection& connection = fixture.hosts.Begin("", route);
    ++calls[connection.target];
    fixture.hosts.End(connection);
    fixture.hosts.Judge(absl::UnavailableError("gone"), "", route);
    EXPECT_EQ(route.next, next);
  }
  EXPECT_EQ(calls, (std::map<std::string, int>{{"a:1", 2}, {"b:2", 2}, {"c:3", 2}}));
}

TEST(HostsTest, BehindANameGrpcChoosesTheNextHost) {
  UnconnectedHosts fixture({"dns:///farm:1"});
  Route route;
  for (int i = 0; i < 2; ++i) {
    fixture.hosts.End(fixture.hosts.Begin("", route));
    fixture.hosts.Judge(absl::UnavailableError("gone"), "", route);
    EXPECT_EQ(route.next, NextHost::kNamed);
  }
  UnconnectedHosts one({"a:1"});
  Route straight;
  one.hosts.End(one.hosts.Begin("", straight));
  one.hosts.Judge(absl::UnavailableError("gone"), "", straight);
  EXPECT_EQ(straight.next, NextHost::kSame);
}

TEST(HostsTest, ACallForAHostFailsNowhereElse) {
  UnconnectedHosts fixture({"a:1", "b:2"});
  Route route;
  const ClientConnection& connection = fixture.hosts.Begin("b:2", route);
  EXPECT_EQ(connection.target, "b:2");
  fixture.hosts.End(connection);
  fixture.hosts.Judge(absl::UnavailableError("gone"), "b:2", route);
  EXPECT_EQ(route.next, NextHost::kSame);
  EXPECT_EQ(fixture.TargetFor("b:2"), "b:2");
}

TEST(HostsTest, AHostMayCallItselfOtherwiseThanTheTargetDoes) {
  UnconnectedHosts fixture({"unix:/a", "b:2"});
  fixture.hosts.Learn(0, "a.example:1");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(fixture.TargetFor("a.example:1"), "unix:/a");
  EXPECT_EQ(fixture.hosts.local(), "unix:/a");
}

TEST(HostsTest, CallsGoStraightToHostsBehindAName) {
  UnconnectedHosts fixture({"dns:///farm:1"});
  EXPECT_EQ(fixture.TargetFor("a:1"), "dns:///farm:1");
  fixture.hosts.Learn(0, "a:1");
  fixture.hosts.Learn(0, "a:1");
  EXPECT_EQ(fixture.TargetFor("a:1"), "a:1");
  EXPECT_EQ(fixture.TargetFor(), "dns:///farm:1");
  EXPECT_EQ(fixture.connected.at("a:1"), false);
}

TEST(HostsTest, AnAddressThatTwoHostsAnswerAtIsThatOfAProxy) {
  UnconnectedHosts fixture({"proxy:1"});
  fixture.hosts.Learn(0, "a:1");
  EXPECT_EQ(fixture.TargetFor("a:1"), "proxy:1");
  fixture.hosts.Learn(0, "b:2");
  EXPECT_EQ(fixture.TargetFor("a:1"), "a:1");
  EXPECT_EQ(fixture.TargetFor("b:2"), "b:2");
  EXPECT_EQ(fixture.TargetFor(), "proxy:1");
}

TEST(HostsTest, AHostOfThisMachineMayCallItselfOtherwiseOnceItWasStartedAnew) {
  for (const std::string address : {"unix:/a", "127.0.0.1:9"}) {
    UnconnectedHosts fixture({address});
    fixture.hosts.Learn(0, "a:1");
    fixture.hosts.Learn(0, "b:2");
    EXPECT_EQ(fixture.TargetFor("b:2"), address);
    // What it kept under its former name is gone, and it says so.
    Route route;
    fixture.hosts.End(fixture.hosts.Begin("a:1", route));
    fixture.hosts.Judge(WrongHostError("a:1"), "a:1", route);
    EXPECT_EQ(route.next, NextHost::kRightOne);
    EXPECT_EQ(fixture.TargetFor("a:1"), "a:1");
    EXPECT_EQ(fixture.TargetFor("b:2"), address);
    fixture.hosts.Learn(0, "c:3");
    EXPECT_EQ(fixture.TargetFor("c:3"), address);
  }
}

TEST(HostsTest, BehindAProxyOfThisMachineEachHostIsAskedForWrongOnce) {
  UnconnectedHosts fixture({"127.0.0.1:9"});
  for (const std::string name : {"a:1", "b:2", "a:1"}) {
    fixture.hosts.Learn(0, name);
    Route route;
    fixture.hosts.End(fixture.hosts.Begin(name, route));
    if (route.host == 0) fixture.hosts.Judge(WrongHostError(name), name, route);
    // Whatever the proxy's hosts tell later.
    fixture.hosts.Learn(0, name);
    EXPECT_EQ(fixture.TargetFor(name), name);
  }
  EXPECT_EQ(fixture.TargetFor(), "127.0.0.1:9");
}

TEST(HostsTest, AWrongHostThatAnotherCallHasFollowedIsFollowedToo) {
  for (const std::string address : {"127.0.0.1:9", "proxy:1"}) {
    UnconnectedHosts fixture({address});
    fixture.hosts.Learn(0, "a:1");
    Route first;
    Route second;
    Route third;
    for (Route* const route : {&first, &second, &third}) {
      fixture.hosts.End(fixture.hosts.Begin("a:1", *route));
    }
    fixture.hosts.Judge(WrongHostError("a:1"), "a:1", first);
    fixture.hosts.Judge(WrongHostError("a:1"), "a:1", second);
    EXPECT_EQ(second.next, NextHost::kRightOne);
    fixture.hosts.Learn(0, "b:2");
    fixture.hosts.Judge(WrongHostError("a:1"), "a:1", third);
    EXPECT_EQ(third.next, NextHost::kRightOne);
  }
}

TEST(HostsTest, AWrongHostIsFollowedOnceToOneThatIsKnown) {
  UnconnectedHosts fixture({"proxy:1"});
  fixture.hosts.Learn(0, "a:1");
  Route route;
  fixture.hosts.End(fixture.hosts.Begin("a:1", route));
  fixture.hosts.Judge(WrongHostError("a:1"), "a:1", route);
  EXPECT_EQ(route.next, NextHost::kRightOne);
  EXPECT_EQ(fixture.TargetFor("a:1"), "a:1");
  fixture.hosts.End(fixture.hosts.Begin("a:1", route));
  fixture.hosts.Judge(WrongHostError("a:1"), "a:1", route);
  EXPECT_EQ(route.next, NextHost::kSame);
}

TEST(HostsTest, AHostThatNowCallsItselfOtherwiseThanItsAddressIsNotAskedAgain) {
  UnconnectedHosts fixture({"a:1"});
  fixture.hosts.Learn(0, "a:1");
  Route route;
  fixture.hosts.End(fixture.hosts.Begin("a:1", route));
  fixture.hosts.Judge(WrongHostError("a:1"), "a:1", route);
  EXPECT_EQ(route.next, NextHost::kSame);
  EXPECT_EQ(fixture.TargetFor("a:1"), "a:1");
}

TEST(HostsTest, AWrongHostForSomethingElseOfTheCallIsItsEnd) {
  UnconnectedHosts fixture({"a:1", "b:2"});
  fixture.hosts.Learn(0, "one:1");
  fixture.hosts.Learn(1, "two:2");
  Route route;
  fixture.hosts.End(fixture.hosts.Begin("one:1", route));
  fixture.hosts.Judge(WrongHostError("two:2"), "one:1", route);
  EXPECT_EQ(route.next, NextHost::kSame);
  EXPECT_EQ(fixture.TargetFor("one:1"), "a:1");
}

TEST(HostsTest, AnIdThatSomebodySentLeadsNowhere) {
  UnconnectedHosts fixture({"a:1"});
  Route route;
  fixture.hosts.End(fixture.hosts.Begin("elsewhere:1", route));
  fixture.hosts.Judge(WrongHostError("elsewhere:1"), "elsewhere:1", route);
  EXPECT_EQ(route.next, NextHost::kSame);
  EXPECT_EQ(fixture.TargetFor("elsewhere:1"), "a:1");
  EXPECT_EQ(fixture.connected.count("elsewhere:1"), 0u);
}

TEST(HostsTest, WhereItMustNotConnectItDoesNot) {
  UnconnectedHosts fixture({"dns:///farm:1"});
  fixture.hosts.Learn(0, fixture.forbidden);
  EXPECT_EQ(fixture.TargetFor(fixture.forbidden), "dns:///farm:1");
}

}  // namespace
}  // namespace opserve::client_internal
