// File: client/python/core/leased_device.h
//
// Leases of devices as objects of Python. To be used with the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_LEASED_DEVICE_H_
#define OPSERVE_CLIENT_PYTHON_CORE_LEASED_DEVICE_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "opserve/client.h"
#include "opserve/device_lease.h"

namespace opserve::python {

// Owns a lease that was granted, which is given back with it.
class LeasedDevice {
 public:
  // Asks for the lease and waits for its turn, without the GIL. Throws what says that there will be
  // none, and Python's TimeoutError after `limit`.
  LeasedDevice(std::shared_ptr<Client> client, const DeviceLeaseOptions& options,
               absl::Duration limit);
  // May wait for the end of the lease's stream, without the GIL.
  ~LeasedDevice();
  LeasedDevice(const LeasedDevice&) = delete;
  LeasedDevice& operator=(const LeasedDevice&) = delete;

  const std::string& id() const { return grant_.id; }
  const std::string& device() const { return grant_.device; }
  double seconds() const { return absl::ToDoubleSeconds(grant_.time); }
  bool is_ended() const;
  // Has the lease end so many seconds from now on, or as many as the server grants, and returns
  // those. None: a minute.
  double Renew(nanobind::handle seconds);
  // Gives it back at once; also where it has ended.
  void Release();

 private:
  const std::shared_ptr<Client> client_;
  std::shared_ptr<DeviceLease> lease_;  // null once it was released
  DeviceGrant grant_;
};

// Makes the class known.
void BindLeases(nanobind::module_& module);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_LEASED_DEVICE_H_
