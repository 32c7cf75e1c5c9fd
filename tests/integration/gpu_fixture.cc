#include "tests/integration/gpu_fixture.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/pool/verify/self_test.h"
#include "tests/integration/client_threads.h"
#include "tests/integration/wait_until.h"

namespace opserve::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Runs that a request takes at most: a full device takes two, and it goes to another device twice.
constexpr uint32_t kMostAttempts = 5;

constexpr uint64_t kRequestsPerHealthCheck = 5;

// A request that no other client or round has the like of, and the bytes of its one right answer.
struct UniqueRequest {
  v1::ExecuteRequest request;
  std::string expected;
};

UniqueRequest MakeRequest(int client, uint64_t number) {
  const bool is_truncated = number % 3 == 0;
  const auto first =
      static_cast<float>(static_cast<uint64_t>(client) * kRequestsPerClient + number);
  std::vector<float> values;
  std::vector<float> expected;
  for (int i = 0; i < 1 + client * 7; ++i) {
    const float value = first * 4096 + static_cast<float>(i) + 0.5f;
    values.push_back(value);
    expected.push_back(is_truncated ? std::trunc(value) : std::nearbyint(value));
  }
  UniqueRequest unique;
  unique.request = RoundRequest(values);
  if (is_truncated) unique.request.mutable_attributes(0)->set_enum_name("TOWARD_ZERO");
  unique.request.set_request_id(absl::StrCat("client ", client, ", request ", number));
  unique.request.set_device(v1::DEVICE_PREFERENCE_GPU);
  unique.expected = BytesOf(expected);
  return unique;
}

uint64_t RequestsOf(const v1::GetServerInfoResponse& info, int position) {
  return info.devices(position).counters().requests();
}

}  // namespace

uint64_t SelfTestRuns() {
  const auto script = std::make_shared<NullScript>();
  NullDevice device(NullProfile("null/test", true), script);
  EXPECT_TRUE(TestLanes(device, RepresentativeLanesOf(device)).status.ok());
  return script->run_count();
}

ServerOptions GpuServerTest::LoadOptions() {
  ServerOptions options;
  options.workers = 2;
  options.cpu_threads = 1;
  options.pool.batch.max_requests = 16;
  options.pool.batch.max_delay = microseconds(100);
  options.pool.health.min_backoff = milliseconds(1);
  options.pool.health.max_backoff = milliseconds(4);
  return options;
}

ServerOptions GpuServerTest::LossOptions() {
  ServerOptions options = LoadOptions();
  options.pool.health.min_backoff = std::chrono::hours(1);
  options.pool.health.max_backoff = std::chrono::hours(1);
  return options;
}

ServerOptions GpuServerTest::OneByOneOptions() {
  ServerOptions options = LossOptions();
  options.pool.batch.max_requests = 1;
  options.pool.batch.max_in_flight = 1;
  return options;
}

GpuServerTest::~GpuServerTest() {
  for (const auto& factory : factories_) {
    const std::shared_ptr<NullScript> script = factory->script();
    if (script == nullptr) continue;
    script->Release();
    script->OpenGate();
  }
}

void GpuServerTest::Start(const ServerOptions& options, int gpus, const Clock* clock) {
  std::vector<DeviceSource> sources;
  for (int i = 0; i < gpus; ++i) sources.push_back(factory(i).source());
  StartWith(options, sources, clock);
}

void GpuServerTest::StartWith(const ServerOptions& options, const std::vector<DeviceSource>& gpus,
                              const Clock* clock) {
  ServerEnvironment environment;
  environment.clock = clock;
  if (!gpus.empty()) environment.find_gpus = [gpus] { return gpus; };
  server_ = std::make_unique<TestServer>(options, environment);
}

v1::GetServerInfoResponse GpuServerTest::Info() {
  grpc::ClientContext context;
  v1::GetServerInfoResponse info;
  const grpc::Status status = server_->stub().GetServerInfo(&context, {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return info;
}

bool GpuServerTest::WaitForHealth(const std::string& service, Health health) {
  return WaitUntil([&] { return HealthOf(service) == health; });
}

bool GpuServerTest::WaitForState(int gpu, v1::DeviceState state) {
  return WaitUntil([&] { return InfoOf(gpu).state() == state; });
}

bool GpuServerTest::WaitForPending(uint64_t count) {
  return WaitUntil([&] { return InfoOf(0).pending_requests() == count; });
}

void GpuServerTest::RunClients(const std::function<void()>& meanwhile,
                               const std::function<void(v1::ExecuteRequest&)>& change) {
  const v1::GetServerInfoResponse before = Info();
  tally_ = {};
  ClientThreads clients(kClients, [&](int client) { RunClient(client, change); });
  if (meanwhile) meanwhile();
  clients.Join();
  EXPECT_EQ(tally_.right, kRequests);
  EXPECT_EQ(tally_.ids.size(), kRequests);
  EXPECT_EQ(tally_.unhealthy, 0u);
  ExpectCountersAgree(before);
}

uint64_t GpuServerTest::answered_by(const std::string& device) const {
  const auto found = tally_.by_device.find(device);
  return found == tally_.by_device.end() ? 0 : found->second;
}

void GpuServerTest::RunClient(int client, const std::function<void(v1::ExecuteRequest&)>& change) {
  const std::shared_ptr<grpc::Channel> channel = ConnectTo(server_->server().addresses().front());
  // How often gRPC has to try to connect is not what is tested.
  ASSERT_TRUE(
      channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::minutes(1)));
  const auto stub = v1::OperatorService::NewStub(channel);
  for (uint64_t i = 0; i < kRequestsPerClient; ++i) {
    UniqueRequest unique = MakeRequest(client, i);
    if (change) change(unique.request);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    Answer answer;
    answer.status = stub->Execute(&context, unique.request, &answer.response);
    bool is_healthy = true;
    if (i % kRequestsPerHealthCheck == 0) {
      is_healthy = CheckHealth(channel, "") == Health::kServing &&
                   CheckHealth(channel, kServiceName) == Health::kServing;
    }
    CheckAnswer(unique.request, unique.expected, answer, is_healthy);
  }
}

void GpuServerTest::CheckAnswer(const v1::ExecuteRequest& request, const std::string& expected,
                                const Answer& answer, bool is_healthy) {
  const v1::ExecuteResponse& response = answer.response;
  const v1::ExecutionInfo& execution = response.execution();
  MutexLock lock(mutex_);
  tally_.unhealthy += is_healthy ? 0 : 1;
  ASSERT_TRUE(answer.status.ok()) << request.request_id() << ": " << answer.status.error_message();
  ASSERT_EQ(response.request_id(), request.request_id());
  ASSERT_TRUE(response.payload() == expected) << request.request_id() << ": wrong bytes";
  ++tally_.right;
  EXPECT_TRUE(tally_.ids.insert(response.request_id()).second);
  ++tally_.by_device[execution.device()];
  tally_.verified += execution.verified() ? 1 : 0;
  tally_.largest_batch = std::max(tally_.largest_batch, execution.batch_size());
  tally_.most_attempts = std::max(tally_.most_attempts, execution.attempts());
  EXPECT_GE(execution.batch_size(), 1u);
  EXPECT_LE(execution.batch_size(), LoadOptions().pool.batch.max_requests);
  EXPECT_GE(execution.attempts(), 1u);
  EXPECT_LE(execution.attempts(), kMostAttempts);
  const bool is_by_gpu = execution.device() == "null/0" || execution.device() == "null/1";
  if (request.verify() && is_by_gpu) {
    EXPECT_TRUE(execution.verified()) << request.request_id();
  }
}

// Every answer is counted at the device that the client was told of; nothing is left anywhere.
void GpuServerTest::ExpectCountersAgree(const v1::GetServerInfoResponse& before) {
  const v1::GetServerInfoResponse after = Info();
  uint64_t runs = 0;
  uint64_t runs_before = 0;
  uint64_t verified = 0;
  for (int i = 0; i < after.devices_size(); ++i) {
    const v1::DeviceInfo& device = after.devices(i);
    const v1::DeviceCounters& counters = device.counters();
    EXPECT_EQ(RequestsOf(after, i) - RequestsOf(before, i), answered_by(device.name()))
        << device.name();
    EXPECT_EQ(device.pending_requests(), 0u) << device.name();
    EXPECT_EQ(device.pending_bytes(), 0u) << device.name();
    verified += counters.verified() - before.devices(i).counters().verified();
    for (const auto& batch : counters.batches()) runs += batch.size() * batch.count();
    for (const auto& batch : before.devices(i).counters().batches()) {
      runs_before += batch.size() * batch.count();
    }
  }
  // Of the runs of a request one succeeds, no more and no less.
  EXPECT_EQ(runs - runs_before, kRequests);
  EXPECT_EQ(verified, tally_.verified);
}

}  // namespace opserve::testing
