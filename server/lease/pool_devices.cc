#include "server/lease/pool_devices.h"

namespace opserve {

std::vector<LeasableDevice> PoolDevices::List() const {
  std::vector<LeasableDevice> devices;
  for (const DeviceStatus& status : pool_.Status()) {
    if (status.profile.kind != DeviceKind::kGpu) continue;
    devices.push_back({.name = status.profile.name,
                       .takes_jobs = TakesJobs(status.state),
                       .is_set_aside = status.state == DeviceState::kSetAside,
                       .is_idle = status.is_idle,
                       .has_pending = status.pending > 0,
                       .lease = status.lease});
  }
  return devices;
}

}  // namespace opserve
