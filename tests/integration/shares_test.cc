// A greedy client beside a modest one: many names, and all of them in a hurry.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/small_file.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

// Keeps in mind in which order calls run, by the sizes of their results.
class OrderedDevice final : public ComputeDevice {
 public:
  explicit OrderedDevice(GatedDevice& gated) : gated_(gated) {}

  const DeviceProfile& profile() const override { return gated_.profile(); }
  bool Supports(OpId op, DataType type) const override { return gated_.Supports(op, type); }
  absl::Status Run(std::span<const DeviceCall> calls) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const DeviceCall& call : calls) order_.push_back(call.invocation->output_bytes);
    }
    return gated_.Run(calls);
  }

  std::vector<uint64_t> order() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return order_;
  }

 private:
  GatedDevice& gated_;
  mutable std::mutex mutex_;
  std::vector<uint64_t> order_;
};

class SharesTest : public ::testing::Test {
 protected:
  ~SharesTest() override {
    std::remove(policy_.c_str());
    std::remove(socket_.c_str());
  }

  // Whoever comes by TCP has what `share` says, others have everything.
  ServerOptions Limiting(const std::string& share) const {
    EXPECT_TRUE(ReplaceFile(policy_,
                            "[[client]]\nmatch = \"uid:*\"\nroles = [\"execute\"]\n"
                            "[[client]]\nmatch = \"address:127.0.0.1\"\n"
                            "roles = [\"execute\", \"observe\"]\n" +
                                share)
                    .ok());
    ServerOptions options;
    options.workers = 1;
    options.regions.is_on = false;
    options.access.policy_file = policy_;
    options.listen = {"127.0.0.1:0", "unix:" + socket_};
    return options;
  }

  static v1::ExecuteRequest Hurried() {
    v1::ExecuteRequest request = RoundRequest({1});
    request.set_priority(v1::PRIORITY_HIGH);
    return request;
  }

  const std::string policy_ =
      ::testing::TempDir() + "opserve-shares-" + std::to_string(getpid()) + ".toml";
  const std::string socket_ =
      ::testing::TempDir() + "opserve-shares-" + std::to_string(getpid()) + ".sock";
  GatedDevice gated_;
  OrderedDevice device_{gated_};
};

TEST_F(SharesTest, NamesAndPrioritiesAreOfNoUseToALimitedClient) {
  TestServer server(Limiting("max_priority = \"normal\"\n"), {.cpu = Borrow(device_)});
  const auto modest = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(gated_);
    calls.push_back(server.Start(Hurried()));
    ASSERT_TRUE(gated_.WaitForHeld(1));
    for (int i = 0; i < 30; ++i) {
      calls.emplace_back(server.stub(), Hurried(), std::chrono::minutes(1),
                         "name-" + std::to_string(i));
    }
    ASSERT_TRUE(server.WaitForRequests(31));
    for (int i = 0; i < 3; ++i) {
      calls.emplace_back(*modest, RoundRequest({1, 2}), std::chrono::minutes(1));
    }
    ASSERT_TRUE(server.WaitForRequests(34));
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
  const std::vector<uint64_t> order = device_.order();
  ASSERT_EQ(order.size(), 34u);
  // The first ran alone, and of those that waited every second one was of the modest client.
  EXPECT_EQ(std::count(order.begin() + 1, order.begin() + 8, 2 * sizeof(float)), 3);
}

TEST_F(SharesTest, AnIdentityHoldsWhatThePolicySays) {
  TestServer server(Limiting("max_concurrent_requests = 2\n"), {.cpu = Borrow(device_)});
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(gated_);
    calls.push_back(server.Start(Hurried()));
    calls.emplace_back(server.stub(), Hurried(), std::chrono::minutes(1), "another name");
    ASSERT_TRUE(server.WaitForRequests(2));
    const grpc::Status refused = server.Execute(Hurried()).status;
    EXPECT_EQ(ReasonOf(refused), "TOO_MANY_REQUESTS");
    EXPECT_TRUE(MayRetry(refused));
    calls.emplace_back(*other, RoundRequest({1}), std::chrono::minutes(1));
    ASSERT_TRUE(server.WaitForRequests(3));
  }
  for (PendingCall& call : calls) EXPECT_TRUE(call.Get().status.ok());
}

TEST_F(SharesTest, AnIdentityBeginsRequestsAsFastAsThePolicySays) {
  // One in a thousand seconds: the second waits for as long.
  TestServer server(Limiting("max_requests_per_second = 0.001\n"));
  EXPECT_TRUE(server.Execute(Hurried()).status.ok());
  const grpc::Status refused = server.Execute(Hurried()).status;
  EXPECT_EQ(ReasonOf(refused), "RATE_EXCEEDED");
  EXPECT_TRUE(MayRetry(refused));
  const auto other = v1::OperatorService::NewStub(ConnectTo("unix:" + socket_));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(PendingCall(*other, Hurried(), std::chrono::minutes(1)).Get().status.ok());
  }
}

}  // namespace
}  // namespace opserve::testing
