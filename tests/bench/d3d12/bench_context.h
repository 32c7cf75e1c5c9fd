// File: tests/bench/d3d12/bench_context.h
//
// What the sections of bench_d3d12 share: the adapter, devices on it, and how long to measure.

#ifndef OPSERVE_TESTS_BENCH_D3D12_BENCH_CONTEXT_H_
#define OPSERVE_TESTS_BENCH_D3D12_BENCH_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"
#include "tests/bench/d3d12/device_meter.h"
#include "tests/bench/d3d12/machine_facts.h"
#include "tests/bench/measure.h"

namespace opserve::bench {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;

// What the command line says.
struct BenchOptions {
  // Position of the adapter; the first hardware adapter, else the first one, where it is not given.
  std::optional<int> adapter = std::nullopt;
  bool is_quick = false;
  // Seconds per row, about.
  double seconds = 0.4;
  // What the adapter's memory moves at best by its maker's word, in bytes per second, if somebody
  // knows.
  std::optional<double> memory_bandwidth = std::nullopt;
};

// For one thread.
class BenchContext {
 public:
  // NOT_FOUND where there is no run time, no driver or no adapter; OUT_OF_RANGE where the adapter
  // that is asked for does not exist.
  static absl::StatusOr<std::unique_ptr<BenchContext>> Create(const BenchOptions& options);

  const BenchOptions& options() const { return options_; }
  const d3d12::AdapterInfo& adapter() const { return adapter_; }
  // The adapter's link as it is now.
  std::optional<PciLink> Link() const;
  // The first of these on hardware, the second one where the processor does the work of the
  // adapter, the third one with --quick.
  uint64_t Sized(uint64_t hardware, uint64_t software, uint64_t quick) const;

  // The run time; nullptr after Release.
  const std::shared_ptr<const d3d12::Runtime>& runtime() const { return runtime_; }
  // A device of its own.
  absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> MakeDevice(
      const d3d12::DeviceOptions& options = {}) const;
  // Those that sections share, made when the first one asks. Live until Release.
  absl::StatusOr<d3d12::D3D12Device*> Device();
  absl::StatusOr<DeviceMeter*> Meter();
  // Has the next section make devices of its own: of these nobody knows what they are at, so what
  // they have is never freed.
  void AbandonDevices();
  // Gives up the run time with all that it has: a process has one Vulkan loader at a time.
  // FAILED_PRECONDITION where a device that was abandoned still has it.
  absl::Status Release();

  // A ContentId that nothing has yet.
  ContentId NextContent() { return ++last_content_; }

  // Median seconds per run of each, by turns, in about options().seconds for all.
  std::vector<double> Seconds(const std::vector<Competitor>& competitors) const;

 private:
  explicit BenchContext(const BenchOptions& options) : options_(options) {}

  const BenchOptions options_;
  d3d12::AdapterInfo adapter_;
  std::shared_ptr<const d3d12::Runtime> runtime_;
  std::unique_ptr<d3d12::D3D12Device> device_;
  std::unique_ptr<DeviceMeter> meter_;
  ContentId last_content_ = kNoContent;
};

// The adapter to measure: `wanted`, else the first one that is hardware, else the first one.
absl::StatusOr<d3d12::AdapterInfo> ChooseAdapter(const std::vector<d3d12::AdapterInfo>& adapters,
                                                 std::optional<int> wanted);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_BENCH_CONTEXT_H_
