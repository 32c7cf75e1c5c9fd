// File: tests/integration/gpu_fixture.h
//
// A server with scripted GPUs, and many clients that know what their answers must be.

#ifndef OPSERVE_TESTS_INTEGRATION_GPU_FIXTURE_H_
#define OPSERVE_TESTS_INTEGRATION_GPU_FIXTURE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/base/mutex.h"
#include "tests/integration/health_client.h"
#include "tests/integration/test_server.h"
#include "tests/testing/null_device.h"

namespace opserve::testing {

inline constexpr int kClients = 64;
inline constexpr uint64_t kRequestsPerClient = 20;
inline constexpr uint64_t kRequests = kClients * kRequestsPerClient;

inline constexpr char kServiceName[] = "opserve.v1.OperatorService";
inline constexpr char kGpuHealthName[] = "opserve.v1.OperatorService/gpu";

// Runs of the known-answer test that each device goes through before it serves.
uint64_t SelfTestRuns();

// What clients got.
struct Tally {
  uint64_t right = 0;
  // The ids of the right answers.
  std::set<std::string> ids;
  // Answers, by device.
  std::map<std::string, uint64_t> by_device;
  uint64_t verified = 0;
  uint64_t unhealthy = 0;
  uint32_t largest_batch = 0;
  uint32_t most_attempts = 0;
};

class GpuServerTest : public ::testing::Test {
 protected:
  // Small batches; lost devices are made anew within milliseconds.
  static ServerOptions LoadOptions();
  // Lost devices do not come back within a test.
  static ServerOptions LossOptions();
  // The GPU runs requests one by one, so that they have an order.
  static ServerOptions OneByOneOptions();

  // Opens all gates, so that the server can stop however the test ended.
  ~GpuServerTest() override;

  // Starts the server with the first `gpus` of the two GPUs. The clock, by default that of this
  // machine, must outlive this fixture.
  void Start(const ServerOptions& options, int gpus = 2, const Clock* clock = nullptr);
  // Starts the server with GPUs of another kind.
  void StartWith(const ServerOptions& options, const std::vector<DeviceSource>& gpus,
                 const Clock* clock = nullptr);
  void Stop() { server_ = nullptr; }

  NullDeviceFactory& factory(int gpu) { return *factories_[static_cast<size_t>(gpu)]; }
  NullScript& script(int gpu) { return *factory(gpu).script(); }
  TestServer& server() { return *server_; }

  v1::GetServerInfoResponse Info();
  // Of a GPU.
  v1::DeviceInfo InfoOf(int gpu) { return Info().devices(gpu + 1); }
  v1::DeviceInfo CpuInfo() { return Info().devices(0); }
  std::string cpu_name() { return CpuInfo().name(); }
  Health HealthOf(const std::string& service) { return CheckHealth(server_->channel(), service); }

  // Waits until `service` has this health, which may be told after the state of a device that it
  // follows from. False after a minute.
  bool WaitForHealth(const std::string& service, Health health);
  // Waits until the GPU is in `state`. False after a minute.
  bool WaitForState(int gpu, v1::DeviceState state);
  // Waits until `count` requests wait for the first GPU. False after a minute.
  bool WaitForPending(uint64_t count);

  // Runs all clients, and `meanwhile` in this thread. `change` is applied to each request. All
  // answers must be right, and the server's counters must agree with what clients saw.
  void RunClients(const std::function<void()>& meanwhile = nullptr,
                  const std::function<void(v1::ExecuteRequest&)>& change = nullptr);
  // Of the last RunClients.
  const Tally& tally() const { return tally_; }
  uint64_t answered_by(const std::string& device) const;

 private:
  void RunClient(int client, const std::function<void(v1::ExecuteRequest&)>& change);
  void CheckAnswer(const v1::ExecuteRequest& request, const std::string& expected,
                   const Answer& answer, bool is_healthy);
  void ExpectCountersAgree(const v1::GetServerInfoResponse& before);

  std::array<std::unique_ptr<NullDeviceFactory>, 2> factories_ = {
      std::make_unique<NullDeviceFactory>(NullProfile("null/0", /*is_software=*/true)),
      std::make_unique<NullDeviceFactory>(NullProfile("null/1", /*is_software=*/true))};
  std::unique_ptr<TestServer> server_;
  Mutex mutex_;
  // Guarded by mutex_ while clients run.
  Tally tally_;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_GPU_FIXTURE_H_
