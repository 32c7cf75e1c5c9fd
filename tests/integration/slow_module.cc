// A Direct3D 12 run time for tests, which takes as long to load as the test wants: until the file
// $OPSERVE_TEST_GATE exists. Its one adapter is a scripted device.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "server/d3d12/module/module.h"
#include "tests/testing/null_device.h"

namespace opserve::d3d12 {
namespace {

class SlowModule final : public D3D12Module {
 public:
  std::string name() const override { return "vkd3d"; }
  const std::vector<AdapterInfo>& adapters() const override { return adapters_; }
  const std::vector<absl::Status>& left_out() const override { return left_out_; }
  absl::StatusOr<std::unique_ptr<ComputeDevice>> CreateDevice(
      int, const DeviceOptions& options) const override {
    return std::make_unique<testing::NullDevice>(testing::NullProfile(options.name, true),
                                                 std::make_shared<testing::NullScript>());
  }

 private:
  const std::vector<AdapterInfo> adapters_ = {
      {.runtime = "vkd3d", .name = "slow", .driver = "test", .is_software = true}};
  const std::vector<absl::Status> left_out_ = {
      absl::UnimplementedError("odd has no queue for graphics and computing.")};
};

absl::StatusOr<std::unique_ptr<const D3D12Module>> LoadModule() {
  const char* const gate = std::getenv("OPSERVE_TEST_GATE");  // NOLINT(concurrency-mt-unsafe)
  while (gate != nullptr && !std::filesystem::exists(gate)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::make_unique<const SlowModule>();
}

}  // namespace
}  // namespace opserve::d3d12

OPSERVE_D3D12_MODULE(opserve::d3d12::LoadModule)
