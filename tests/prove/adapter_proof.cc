#include "tests/prove/adapter_proof.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/attribute_settings.h"
#include "server/d3d12/d3d12_device.h"
#include "tests/gpu/cells.h"
#include "tests/gpu/test_device.h"
#include "tests/prove/device_proof.h"

namespace opserve::testing {
namespace {

// FLOAT16 first, which take no time.
constexpr DataType kProvenTypes[] = {DataType::kFloat16, DataType::kFloat32};

std::vector<Cell> ProvenCells(DataType lane) {
  std::vector<Cell> cells = CellsWithKernels();
  std::erase_if(
      cells, [lane](const Cell& cell) { return cell.op->input_count() != 1 || cell.lane != lane; });
  return cells;
}

// "ACTIVATION_ELU_FLOAT32, setting 3"
std::string NameOfCase(const Cell& cell, int setting, int settings) {
  return settings == 1 ? cell.name() : absl::StrCat(cell.name(), ", setting ", setting);
}

// Returns whether nothing was wrong.
bool ProveCase(ComputeDevice& device, const Cell& cell, int setting, uint64_t stride,
               const std::string& name) {
  const auto begun = std::chrono::steady_clock::now();
  const DeviceProof proof = ProveOnDevice(device, cell, setting, stride);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
  for (const WrongElement& element : proof.first_wrong) {
    absl::PrintF("  0x%x gives 0x%x, not 0x%x\n", element.input, element.actual, element.expected);
  }
  absl::PrintF("%-48s %11d inputs, %4d open, %4d wrong, %6.1f s\n", name, proof.inputs, proof.open,
               proof.wrong, seconds.count());
  if (!proof.status.ok()) absl::PrintF("  failed: %s\n", proof.status.ToString());
  std::fflush(stdout);
  return proof.is_good();
}

}  // namespace

absl::StatusOr<ProvenAdapter> FindAdapter(std::optional<int> wanted) {
  // It stays until the process ends: what drivers leave behind is theirs as long as they are
  // loaded.
  const auto& runtime = TestRuntime();
  if (!runtime.ok()) return runtime.status();
  const std::vector<d3d12::AdapterInfo>& adapters = (*runtime)->adapters();
  if (adapters.empty()) return absl::NotFoundError("There is no adapter.");
  for (const d3d12::AdapterInfo& adapter : adapters) {
    const bool is_it = wanted ? adapter.index == *wanted : !adapter.is_software;
    if (is_it) return ProvenAdapter{*runtime, adapter.index};
  }
  if (!wanted) return absl::NotFoundError("There is no hardware adapter.");
  return absl::OutOfRangeError(
      absl::StrCat("There is no adapter ", *wanted, ": there are ", adapters.size(), "."));
}

std::vector<OpId> OperatorsOfAdapters() {
  std::vector<OpId> ops;
  for (const DataType lane : kProvenTypes) {
    for (const Cell& cell : ProvenCells(lane)) ops.push_back(cell.op->id);
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

bool ProveOnAdapter(const ProvenAdapter& adapter, const std::vector<OpId>& ops,
                    const AdapterProofOptions& options) {
  const auto device = d3d12::D3D12Device::Create(adapter.runtime, adapter.index);
  if (!device.ok()) {
    absl::FPrintF(stderr, "prove: %s\n", device.status().ToString());
    return false;
  }
  const DeviceProfile& profile = (*device)->profile();
  absl::PrintF("adapter: %s, %s, %s\n", profile.description, profile.driver, profile.runtime);
  bool is_good = true;
  for (const DataType lane : kProvenTypes) {
    const uint64_t stride = lane == DataType::kFloat32 ? options.stride : 1;
    for (const Cell& cell : ProvenCells(lane)) {
      if (std::find(ops.begin(), ops.end(), cell.op->id) == ops.end()) continue;
      const int settings = options.is_usual ? cell.mode_count() : PlainSettingCount(*cell.op);
      for (int setting = 0; setting < settings; ++setting) {
        const std::string name = NameOfCase(cell, setting, settings);
        is_good = ProveCase(**device, cell, setting, stride, name) && is_good;
      }
    }
  }
  return is_good;
}

}  // namespace opserve::testing
