// File: server/lease/pool_devices.h
//
// The GPUs of a pool as devices that can be leased.

#ifndef OPSERVE_SERVER_LEASE_POOL_DEVICES_H_
#define OPSERVE_SERVER_LEASE_POOL_DEVICES_H_

#include <string>
#include <vector>

#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"

namespace opserve {

// Thread-safe.
class PoolDevices final : public LeasableDevices {
 public:
  // `pool` must outlive the object.
  explicit PoolDevices(DevicePool& pool) : pool_(pool) {}

  std::vector<LeasableDevice> List() const override;
  void Reserve(const std::string& device, uint64_t lease) override { pool_.Reserve(device, lease); }
  void EndReservation(const std::string& device) override { pool_.EndReservation(device); }

 private:
  DevicePool& pool_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_LEASE_POOL_DEVICES_H_
