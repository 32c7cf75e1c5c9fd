// A module of a run time that opserve does not have, on a machine without an adapter for it.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/d3d12/module/module.h"

namespace opserve::d3d12 {
namespace {

class OtherModule final : public D3D12Module {
 public:
  std::string name() const override { return "other"; }
  const std::vector<AdapterInfo>& adapters() const override { return adapters_; }
  const std::vector<absl::Status>& left_out() const override { return left_out_; }
  absl::StatusOr<std::unique_ptr<ComputeDevice>> CreateDevice(
      int /*adapter*/, const DeviceOptions& /*options*/) const override {
    return absl::InvalidArgumentError("There is no adapter.");
  }

 private:
  const std::vector<AdapterInfo> adapters_ = {};
  const std::vector<absl::Status> left_out_ = {};
};

absl::StatusOr<std::unique_ptr<const D3D12Module>> LoadModule() {
  return std::make_unique<const OtherModule>();
}

}  // namespace
}  // namespace opserve::d3d12

OPSERVE_D3D12_MODULE(opserve::d3d12::LoadModule)
