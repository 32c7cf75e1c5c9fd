// Load balancers can see that a server is full, which it is not any less healthy for.

#include "gtest/gtest.h"
#include "server/service/saturation.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/health_client.h"
#include "tests/integration/test_server.h"

namespace opserve::testing {
namespace {

TEST(SaturationHealthTest, AFullServerTakesNoMoreUntilItHasRoom) {
  GatedDevice device;
  ServerOptions options;
  options.workers = 1;
  options.admission = {.max_requests = 1};
  TestServer server(options, {.cpu = Borrow(device)});
  HealthWatch watch(server.channel(), kAdmissionHealthName);
  EXPECT_EQ(watch.Next(), Health::kServing);
  std::vector<PendingCall> calls;
  {
    const GateCloser closer(device);
    calls.push_back(server.Start(RoundRequest({1})));
    EXPECT_EQ(watch.Next(), Health::kNotServing);
    EXPECT_EQ(CheckHealth(server.channel(), ""), Health::kServing);
  }
  EXPECT_TRUE(calls[0].Get().status.ok());
  EXPECT_EQ(watch.Next(), Health::kServing);
}

}  // namespace
}  // namespace opserve::testing
