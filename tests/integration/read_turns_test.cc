// Many connections of one client, large and small messages, beside another client: whatever waits
// for its turn is read in the end.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

class ReadTurnsServerTest : public ::testing::Test {
 protected:
  ~ReadTurnsServerTest() override { std::remove(socket_.c_str()); }

  ServerOptions Options() const {
    ServerOptions options;
    options.regions.is_on = false;
    options.listen = {"127.0.0.1:0", "unix:" + socket_};
    return options;
  }

  // A connection of its own.
  static std::unique_ptr<Stub> Connect(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(-1);
    return v1::OperatorService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  static void ExpectRounded(PendingCall& call, size_t values) {
    const Answer answer = call.Get();
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_EQ(answer.response.payload().size(), values * sizeof(float));
  }

  const std::string socket_ =
      ::testing::TempDir() + "opserve-turns-" + std::to_string(getpid()) + ".sock";
};

TEST_F(ReadTurnsServerTest, AllCallsOfManyConnectionsAreAnswered) {
  TestServer server(Options());
  const std::string addresses[] = {"127.0.0.1:" + std::to_string(server.server().port()),
                                   "unix:" + socket_};
  constexpr size_t kSizes[] = {16, 1 << 18};
  for (const std::string& busy : addresses) {
    const std::string& other = busy == addresses[0] ? addresses[1] : addresses[0];
    const auto modest = Connect(other);
    const auto call_modestly = [&modest] {
      PendingCall call(*modest, RoundRequest(std::vector<float>(16)), std::chrono::minutes(1));
      ExpectRounded(call, 16);
    };
    call_modestly();
    for (const size_t values : kSizes) {
      std::vector<std::unique_ptr<Stub>> stubs;
      std::vector<PendingCall> calls;
      for (int i = 0; i < 8; ++i) {
        stubs.push_back(Connect(busy));
        for (int n = 0; n < 4; ++n) {
          calls.emplace_back(*stubs.back(), RoundRequest(std::vector<float>(values)),
                             std::chrono::minutes(1));
        }
      }
      for (size_t i = 0; i < calls.size(); ++i) {
        if (i % 8 == 0) call_modestly();
        ExpectRounded(calls[i], values);
      }
    }
  }
}

TEST_F(ReadTurnsServerTest, ConnectionsThatEndKeepNobodyWaiting) {
  TestServer server(Options());
  const std::string address = "127.0.0.1:" + std::to_string(server.server().port());
  const auto modest = Connect("unix:" + socket_);
  for (int round = 0; round < 4; ++round) {
    PendingCall first(*modest, RoundRequest({1}), std::chrono::minutes(1));
    std::vector<PendingCall> kept;
    const auto stub = Connect(address);
    {
      std::vector<std::unique_ptr<Stub>> stubs;
      std::vector<PendingCall> dropped;
      for (int i = 0; i < 8; ++i) {
        stubs.push_back(Connect(address));
        dropped.emplace_back(*stubs.back(), RoundRequest(std::vector<float>(1 << 18)),
                             std::chrono::minutes(1));
        kept.emplace_back(*stub, RoundRequest(std::vector<float>(16)), std::chrono::minutes(1));
      }
      for (PendingCall& call : dropped) call.TryCancel();
      for (PendingCall& call : dropped) call.Get();
    }
    ExpectRounded(first, 1);
    for (PendingCall& call : kept) ExpectRounded(call, 16);
  }
}

}  // namespace
}  // namespace opserve::testing
