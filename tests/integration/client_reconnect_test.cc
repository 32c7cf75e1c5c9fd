// A client whose server is gone for a while. The server is a process of its own: one in this
// process would poll for the client.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opserve/client.h"
#include "opserve/errors.h"
#include "tests/integration/server_process.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

// gRPC polls by itself every 5 s. Once for the attempt that the server was not there for, and again
// for the next one: it would take longer.
constexpr std::chrono::seconds kSoon{4};

TEST(ClientReconnectTest, CallsThatFailAtOnceSucceedSoonAfterTheServerIsBack) {
  const TemporaryFolder folder;
  std::optional<ServerProcess> server(std::in_place, ServerProcess::Serving(folder.path()));
  const std::vector<std::string> addresses = server->WaitReady(folder.path());
  ASSERT_EQ(addresses.size(), 1u) << server->Output();
  ClientOptions options;
  options.retry.max_attempts = 1;
  options.retry.max_backoff = absl::Milliseconds(100);
  const auto client = Client::Connect(addresses[0], options);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto call = [&client] {
    // Leaves the processor to those that connect.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return (*client)->GetServerInfo().status();
  };
  ASSERT_TRUE(call().ok());

  // On a busy machine the server itself may take that long, but not every time.
  auto took = steady_clock::duration::max();
  for (int round = 0; round < 3 && took >= kSoon; ++round) {
    server->Signal(SIGKILL);
    ASSERT_TRUE(server->WaitExit().has_value());
    ASSERT_TRUE(WaitUntil([&] { return GetErrorReason(call()) == kConnectionRefused; }));
    std::filesystem::remove(folder.path() / "ready");
    server.emplace(std::vector<std::string>{"--listen", addresses[0], "--ready-file",
                                            (folder.path() / "ready").string()});
    ASSERT_THAT(server->WaitReady(folder.path()), ElementsAre(addresses[0])) << server->Output();
    const auto start = steady_clock::now();
    ASSERT_TRUE(WaitUntil([&] { return call().ok(); }));
    took = steady_clock::now() - start;
  }
  EXPECT_LT(took, kSoon);
}

}  // namespace
}  // namespace opserve::testing
