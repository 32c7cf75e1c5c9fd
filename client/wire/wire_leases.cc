#include "client/wire/wire_leases.h"

#include <algorithm>
#include <limits>

namespace opserve::client_internal {

uint32_t LeaseSeconds(absl::Duration time) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  const int64_t seconds = absl::ToInt64Seconds(absl::Ceil(time, absl::Seconds(1)));
  return static_cast<uint32_t>(std::clamp<int64_t>(seconds, 0, kMost));
}

v1::LeaseDeviceRequest EncodeLease(const DeviceLeaseOptions& lease) {
  v1::LeaseDeviceRequest request;
  request.set_device(lease.device);
  request.set_time_s(LeaseSeconds(lease.time));
  request.set_label(lease.label);
  return request;
}

std::vector<DeviceLeaseInfo> DecodeLeases(const v1::ListLeasesResponse& response) {
  std::vector<DeviceLeaseInfo> leases;
  for (const v1::DeviceLeaseInfo& lease : response.leases()) {
    leases.push_back({lease.number(), lease.client(), lease.label(), lease.device(), lease.held(),
                      lease.position(), absl::Milliseconds(lease.age_ms()),
                      absl::Milliseconds(lease.left_ms())});
  }
  return leases;
}

}  // namespace opserve::client_internal
