// Shared memory through the client library: calls that work in it, and servers that refuse it, end,
// or answer late.

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "gmock/gmock.h"
#include "tests/integration/client_fixture.h"
#include "tests/integration/gated_device.h"
#include "tests/integration/server_process.h"
#include "tests/unit/server/base/simulated_clock.h"

namespace opserve::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ClientRegionsTest : public ClientFixture {
 protected:
  SharedRegion NewRegion(uint64_t bytes) { return NewRegion(*client_, bytes); }
  static SharedRegion NewRegion(Client& client, uint64_t bytes) {
    auto region = client.CreateRegion(bytes);
    EXPECT_TRUE(region.ok()) << region.status();
    return *std::move(region);
  }
  std::string region_socket() const { return folder() + "/server.regions"; }
};

// Writes values to a range; returns it as a tensor.
TensorView Fill(const RegionRange& range, const Floats& values) {
  std::ranges::copy(values, range.values<float>().begin());
  return TensorView::At(range, FloatsSpec(values.size()));
}

TEST_F(ClientRegionsTest, ServerInfoTellsTheSocket) {
  options_.regions.limits.max_bytes = 12345;
  Start();
  const auto info = client_->GetServerInfo();
  ASSERT_TRUE(info.ok() && info->shared_memory.has_value());
  EXPECT_EQ(info->shared_memory->socket, region_socket());
  EXPECT_EQ(info->shared_memory->max_bytes, 12345u);
}

TEST_F(ClientRegionsTest, AServerThatCannotShareMemoryDoesNotStart) {
  std::ofstream(region_socket()) << "in its way";
  const absl::Status status = Server::Start(options_, {}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot share memory: "));
}

TEST_F(ClientRegionsTest, CallsWorkInTheMemoryOfTheCaller) {
  Start();
  const SharedRegion region = NewRegion(256);
  EXPECT_THAT(region.bytes(), ::testing::AllOf(::testing::SizeIs(256), Each(std::byte{0})));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(region.bytes().data()) % 64, 0u);
  const TensorView x = Fill(region.range(4, 12), {-1.5f, 0.5f, 2.5f});
  const RegionRange y = region.range(64, 12);
  const auto spec = client_->ExecuteTo(Round(x), y);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(*spec, FloatsSpec(3));
  EXPECT_THAT(y.values<float>(), ElementsAre(-2, 0, 2));
  const auto copied = client_->Execute(Round(x));
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_THAT(*copied->Elements<float>(), ElementsAre(-2, 0, 2));
}

TEST_F(ClientRegionsTest, CallsWorkInPlaceAndBetweenPlaces) {
  Start();
  const SharedRegion region = NewRegion(64);
  const RegionRange range = region.range(0, 12);
  const TensorView x = Fill(range, {-1.5f, 0.5f, 2.5f});
  ASSERT_TRUE(client_->ExecuteTo(Round(x), range).ok());
  EXPECT_THAT(range.values<float>(), ElementsAre(-2, 0, 2));
  const auto tensor = client_->CreateTensor(x);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(ValuesOf(tensor->handle), (Floats{-2, 0, 2}));
  Fill(range, {0.5f, 1.5f, 2.5f});
  ASSERT_TRUE(client_->ExecuteTo(Round(x), tensor->handle).ok());
  EXPECT_EQ(ValuesOf(tensor->handle), (Floats{0, 2, 2}));
}

TEST_F(ClientRegionsTest, RangesOutsideTheRegionAreRefused) {
  Start();
  const SharedRegion region = NewRegion(64);
  const absl::Status status =
      client_->Execute(Round(TensorView::At(region.range(60, 8), FloatsSpec(2)))).status();
  ASSERT_EQ(GetViolations(status).size(), 1u) << status;
  EXPECT_EQ(GetViolations(status)[0].field, "input_places[0].region.bytes");
}

TEST_F(ClientRegionsTest, ARegionLivesAsLongAsACallThatUsesIt) {
  const auto device = std::make_shared<GatedDevice>();
  Start({.cpu = device});
  std::future<absl::StatusOr<Tensor>> output;
  {
    const GateCloser closer(*device);
    {
      const SharedRegion region = NewRegion(64);
      output = client_->ExecuteFuture(Round(Fill(region.range(0, 4), {1.5f})));
      ASSERT_TRUE(device->WaitForHeld(1));
    }
  }
  const auto result = output.get();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(*result->Elements<float>(), ElementsAre(2));
}

TEST_F(ClientRegionsTest, ARegionLivesAsLongAsItsRangesAndIsThereForAll) {
  Start();
  const auto other = Connect({.client_name = "other"});
  auto range = std::make_unique<RegionRange>(NewRegion(64).range(0, 4));
  // What the server knows of it is the id.
  std::byte memory[64];
  const RegionRange same(std::make_shared<const std::string>(range->id()), memory, 0, 4);
  const OperatorCall call = Round(TensorView::At(same, FloatsSpec(1)));
  EXPECT_TRUE(other->Execute(call).ok());
  range.reset();
  // Its client's connection is served in order: once there is another one, this one is gone.
  NewRegion(64);
  EXPECT_EQ(GetErrorReason(other->Execute(call).status()), "REGION_NOT_FOUND");
}

TEST_F(ClientRegionsTest, RegionsOutliveTheirClient) {
  Start();
  const SharedRegion region = NewRegion(64);
  const OperatorCall call = Round(Fill(region.range(0, 4), {1.5f}));
  client_.reset();
  EXPECT_TRUE(Connect({})->Execute(call).ok());
}

TEST_F(ClientRegionsTest, ManyRegionsShareOneConnection) {
  options_.regions.max_connections = 1;
  options_.regions.limits.max_regions = 1000;
  Start();
  std::vector<SharedRegion> regions;
  for (int i = 0; i < 500; ++i) regions.push_back(NewRegion(64));
  EXPECT_TRUE(client_->Execute(Round(Fill(regions.back().range(0, 4), {1.5f}))).ok());
  // More answers than the socket has room for.
  regions.erase(regions.begin(), regions.end() - 1);
  EXPECT_TRUE(client_->Execute(Round(Fill(regions.back().range(0, 4), {1.5f}))).ok());
  for (int i = 0; i < 500; ++i) regions.push_back(NewRegion(64));
}

TEST_F(ClientRegionsTest, QuotasAreKeptAndFreed) {
  options_.regions.limits.max_bytes = 8192;
  Start();
  for (int i = 0; i < 100; ++i) {
    const SharedRegion region = NewRegion(8192);
    const absl::Status status = client_->CreateRegion(1).status();
    ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_EQ(GetErrorReason(status), "REGION_QUOTA");
    EXPECT_TRUE(GetRetryDelay(status).has_value());
  }
  EXPECT_EQ(GetErrorReason(client_->CreateRegion(uint64_t{1} << 36).status()), "REGION_QUOTA")
      << "and no such memory is taken";
}

TEST_F(ClientRegionsTest, ServersTakeSoManyConnections) {
  options_.regions.max_connections = 1;
  Start();
  auto region = std::make_unique<SharedRegion>(NewRegion(64));
  const auto other = Connect({});
  for (int i = 0; i < 20; ++i) {
    const absl::Status status = other->CreateRegion(64).status();
    EXPECT_EQ(GetErrorReason(status), "REGION_QUOTA") << status;
  }
  EXPECT_TRUE(client_->Execute(Round(Fill(region->range(0, 4), {1.5f}))).ok());
}

TEST_F(ClientRegionsTest, AConnectionThatWasIdleForTooLongIsMadeAnew) {
  SimulatedClock clock{SteadyClock().Now()};
  Start({.clock = &clock});
  NewRegion(64);
  // Who is served later finds that the region is gone, and then that its connection is.
  const auto second = Connect({});
  const SharedRegion theirs = NewRegion(*second, 64);
  clock.Advance(options_.regions.idle_limit);
  const auto third = Connect({});
  const SharedRegion another = NewRegion(*third, 64);
  const SharedRegion region = NewRegion(64);
  EXPECT_TRUE(
      client_->Execute(Round(Fill(region.range(0, 4), {1.5f})), {.timeout = absl::Hours(2)}).ok());
  clock.Advance(options_.regions.idle_limit);
  EXPECT_TRUE(
      client_->Execute(Round(Fill(region.range(0, 4), {1.5f})), {.timeout = absl::Hours(2)}).ok());
  server_.reset();
}

TEST_F(ClientRegionsTest, SizesThatCannotBeAreRefused) {
  Start();
  EXPECT_TRUE(absl::IsInvalidArgument(client_->CreateRegion(0).status()));
  EXPECT_FALSE(client_->CreateRegion(UINT64_MAX).ok());
}

TEST_F(ClientRegionsTest, AServerWithoutASocketFileOffersNone) {
  options_.listen = {"127.0.0.1:0"};
  StartServer();
  const auto client = *Client::Connect(server_->addresses()[0]);
  const absl::Status status = client->CreateRegion(64).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(ClientRegionsTest, ASocketOutOfReachIsUnavailable) {
  Start();
  // As seen from another machine.
  std::filesystem::remove(region_socket());
  const absl::Status status = client_->CreateRegion(64).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(region_socket()));
}

TEST_F(ClientRegionsTest, RegionsEndWithTheServerAndNewOnesDoNot) {
  Start();
  const SharedRegion lost = NewRegion(64);
  const OperatorCall call = Round(Fill(lost.range(0, 4), {1.5f}));
  server_.reset();
  StartServer();
  const CallOptions patient = {.retry = RetryPolicy{.max_attempts = 100}};
  EXPECT_EQ(GetErrorReason(client_->Execute(call, patient).status()), "REGION_NOT_FOUND");
  EXPECT_EQ(lost.range(0, 4).values<float>()[0], 1.5f) << "the memory stays";
  const SharedRegion region = NewRegion(64);
  EXPECT_TRUE(client_->Execute(Round(Fill(region.range(0, 4), {1.5f}))).ok());
}

TEST_F(ClientRegionsTest, ThreadsShareTheClient) {
  Start();
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const SharedRegion region = NewRegion(4096);
        const auto output =
            client_->Execute(Round(Fill(region.range(0, 4), {static_cast<float>(t) + 0.25f})));
        if (output.ok() && (*output->Elements<float>())[0] == static_cast<float>(t)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

// A server of its own process, which can be stopped and killed.
class RegionProcessTest : public ::testing::Test {
 protected:
  RegionProcessTest() {
    const std::string target = "unix:" + (folder_.path() / "server").string();
    server_.emplace(std::vector<std::string>{"--listen", target, "--ready-file",
                                             (folder_.path() / "ready").string(),
                                             "--max-region-bytes", "4KiB"});
    EXPECT_FALSE(server_->WaitReady(folder_.path()).empty());
    auto client = Client::Connect(target);
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  const TemporaryFolder folder_;
  std::optional<ServerProcess> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(RegionProcessTest, AServerThatDoesNotAnswerHoldsNobodyUp) {
  { ASSERT_TRUE(client_->CreateRegion(4096).ok()); }
  server_->Signal(SIGSTOP);
  siginfo_t stopped;
  ASSERT_EQ(waitid(P_ALL, 0, &stopped, WSTOPPED), 0);
  const absl::Status status =
      client_->CreateRegion(4096, {.timeout = absl::Milliseconds(100)}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  server_->Signal(SIGCONT);
  // It has registered the region that nobody waited for, and gives it up: there is room for one.
  EXPECT_TRUE(client_->CreateRegion(4096).ok());
}

TEST_F(RegionProcessTest, AServerThatIsKilledLeavesTheMemory) {
  const auto region = client_->CreateRegion(4096);
  ASSERT_TRUE(region.ok()) << region.status();
  const RegionRange range = region->range(0, 4);
  const TensorView x = Fill(range, {1.5f});
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->WaitExit(), -SIGKILL);
  const CallOptions once = {.retry = RetryPolicy{.max_attempts = 1}};
  EXPECT_TRUE(absl::IsUnavailable(client_->ExecuteTo(Round(x), range, once).status()));
  EXPECT_EQ(range.values<float>()[0], 1.5f);
  const absl::Status status = client_->CreateRegion(64, once).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace opserve::testing
