#include "tests/bench/d3d12/bench_context.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve::bench {

absl::StatusOr<d3d12::AdapterInfo> ChooseAdapter(const std::vector<d3d12::AdapterInfo>& adapters,
                                                 std::optional<int> wanted) {
  if (adapters.empty()) return absl::NotFoundError("There is no adapter.");
  if (!wanted.has_value()) {
    for (const d3d12::AdapterInfo& each : adapters) {
      if (!each.is_software) return each;
    }
    return adapters[0];
  }
  if (*wanted >= 0 && static_cast<size_t>(*wanted) < adapters.size()) {
    return adapters[static_cast<size_t>(*wanted)];
  }
  return absl::OutOfRangeError(
      absl::StrCat("There is no adapter ", *wanted, ": there are ", adapters.size(), "."));
}

absl::StatusOr<std::unique_ptr<BenchContext>> BenchContext::Create(const BenchOptions& options) {
  std::unique_ptr<BenchContext> context(new BenchContext(options));
  absl::StatusOr<std::shared_ptr<const d3d12::Runtime>> runtime = d3d12::Runtime::Load();
  if (!runtime.ok()) return runtime.status();
  context->runtime_ = *std::move(runtime);
  absl::StatusOr<d3d12::AdapterInfo> adapter =
      ChooseAdapter(context->runtime_->adapters(), options.adapter);
  if (!adapter.ok()) return adapter.status();
  context->adapter_ = *std::move(adapter);
  return context;
}

std::optional<PciLink> BenchContext::Link() const {
  return FindPciLink("/sys/bus/pci/devices", adapter_.vendor_id, adapter_.device_id);
}

uint64_t BenchContext::Sized(uint64_t hardware, uint64_t software, uint64_t quick) const {
  if (options_.is_quick) return quick;
  return adapter_.is_software ? software : hardware;
}

absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> BenchContext::MakeDevice(
    const d3d12::DeviceOptions& options) const {
  return d3d12::D3D12Device::Create(runtime_, adapter_.index, options);
}

absl::StatusOr<d3d12::D3D12Device*> BenchContext::Device() {
  if (device_ == nullptr) {
    absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> made = MakeDevice();
    if (!made.ok()) return made.status();
    device_ = *std::move(made);
  }
  return device_.get();
}

absl::StatusOr<DeviceMeter*> BenchContext::Meter() {
  if (meter_ == nullptr) {
    absl::StatusOr<std::unique_ptr<DeviceMeter>> made =
        DeviceMeter::Create(runtime_, adapter_.index);
    if (!made.ok()) return made.status();
    meter_ = *std::move(made);
  }
  return meter_.get();
}

void BenchContext::AbandonDevices() {
  // The other one knows by itself what it may free.
  device_ = nullptr;
  static_cast<void>(meter_.release());
}

absl::Status BenchContext::Release() {
  meter_ = nullptr;
  device_ = nullptr;
  const std::weak_ptr<const d3d12::Runtime> released = std::exchange(runtime_, nullptr);
  if (released.expired()) return absl::OkStatus();
  return absl::FailedPreconditionError("A device of a section that failed is still there.");
}

std::vector<double> BenchContext::Seconds(const std::vector<Competitor>& competitors) const {
  constexpr int kRepeats = 5;
  return MedianSeconds(competitors, {.repeats = kRepeats,
                                     .batch_seconds = options_.seconds / kRepeats /
                                                      static_cast<double>(competitors.size()) / 2});
}

}  // namespace opserve::bench
