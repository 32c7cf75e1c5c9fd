#include "server/tensors/tensor_home.h"

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/utf8.h"
#include "server/validate/request_validator.h"

namespace opserve {
namespace {

constexpr size_t kMaxShownNameBytes = 64;

std::string NamesOf(const std::vector<DeviceStatus>& devices) {
  return absl::StrJoin(devices, ", ", [](std::string* out, const DeviceStatus& device) {
    absl::StrAppend(out, device.profile.name);
  });
}

// The GPU with the fewest bytes of tensors, of those that take requests if there are any. There is
// a GPU.
absl::string_view LeastUsedGpu(const DevicePool& pool, const TensorStore& tensors) {
  using Rank = std::tuple<bool, uint64_t>;
  const DeviceProfile* best = nullptr;
  Rank best_rank;
  for (const DeviceStatus& device : pool.Status()) {
    if (device.profile.kind != DeviceKind::kGpu) continue;
    const Rank rank = {!TakesJobs(device.state), tensors.BytesOn(device.profile.name)};
    if (best != nullptr && best_rank <= rank) continue;
    best = pool.Find(device.profile.name);
    best_rank = rank;
  }
  return best->name;
}

// The device that the request names.
absl::string_view NamedDevice(const v1::CreateTensorRequest& request, const DevicePool& pool,
                              std::vector<Violation>& violations) {
  const DeviceProfile* const device = pool.Find(request.device());
  if (device == nullptr) {
    violations.push_back({"device", absl::StrCat("There is no device \"",
                                                 TruncateUtf8(request.device(), kMaxShownNameBytes),
                                                 "\"; there are: ", NamesOf(pool.Status()), ".")});
    return "";
  }
  const bool is_gpu = device->kind == DeviceKind::kGpu;
  const auto other = is_gpu ? v1::DEVICE_PREFERENCE_CPU : v1::DEVICE_PREFERENCE_GPU;
  if (request.placement() == other) {
    violations.push_back(
        {"device", absl::StrCat("The device is a ", is_gpu ? "GPU" : "CPU",
                                ", but the placement is ", is_gpu ? "CPU" : "GPU", ".")});
  }
  return is_gpu ? absl::string_view(device->name) : absl::string_view();
}

}  // namespace

absl::StatusOr<absl::string_view> FindHome(const v1::CreateTensorRequest& request,
                                           const DevicePool& pool, const TensorStore& tensors,
                                           std::vector<Violation>& violations) {
  if (!v1::DevicePreference_IsValid(request.placement())) {
    violations.push_back(
        {"placement", absl::StrCat("There is no device preference ", request.placement(), ".")});
    return "";
  }
  const bool is_named = !request.device().empty();
  RequestEnvelope envelope;
  envelope.device = request.placement();
  // A name that is unknown may be that of a GPU which is not found yet.
  if (is_named) {
    const bool may_come = pool.gpu_presence() == GpuPresence::kStarting;
    if (!may_come || pool.Find(request.device()) != nullptr) {
      return NamedDevice(request, pool, violations);
    }
    envelope.device = v1::DEVICE_PREFERENCE_GPU;
  }
  absl::Status status = CheckDevice(envelope, [&pool] { return pool.gpu_presence(); });
  if (!status.ok()) return status;
  if (is_named) return NamedDevice(request, pool, violations);
  if (request.placement() != v1::DEVICE_PREFERENCE_GPU) return "";
  return LeastUsedGpu(pool, tensors);
}

}  // namespace opserve
