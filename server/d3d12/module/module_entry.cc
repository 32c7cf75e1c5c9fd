// The entry of a module: compiled once per run time, like all of the folder.

#include <utility>

#include "server/d3d12/module/module.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::d3d12 {
namespace {

class RuntimeModule final : public D3D12Module {
 public:
  explicit RuntimeModule(std::shared_ptr<const Runtime> runtime) : runtime_(std::move(runtime)) {}

  std::string name() const override { return runtime_->name(); }

  const std::vector<AdapterInfo>& adapters() const override { return runtime_->adapters(); }

  const std::vector<absl::Status>& left_out() const override { return runtime_->left_out(); }

  absl::StatusOr<std::unique_ptr<ComputeDevice>> CreateDevice(
      int adapter, const DeviceOptions& options) const override {
    return D3D12Device::Create(runtime_, adapter, options);
  }

 private:
  const std::shared_ptr<const Runtime> runtime_;
};

absl::StatusOr<std::unique_ptr<const D3D12Module>> LoadModule() {
  absl::StatusOr<std::shared_ptr<const Runtime>> runtime = Runtime::Load();
  if (!runtime.ok()) return runtime.status();
  return std::make_unique<const RuntimeModule>(*std::move(runtime));
}

}  // namespace
}  // namespace opserve::d3d12

OPSERVE_D3D12_MODULE(opserve::d3d12::LoadModule)
