// File: client/api/leases.h
//
// Leases of devices and administration: functions over ClientImpl, as those of Client of the same
// names. Thread-safe.

#ifndef OPSERVE_CLIENT_API_LEASES_H_
#define OPSERVE_CLIENT_API_LEASES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/api/client_impl.h"
#include "client/stream/lease_core.h"
#include "opserve/device_lease.h"

namespace opserve::client_internal {

// A lease that has been asked for.
std::shared_ptr<LeaseCore> LeaseDevice(ClientImpl& client, const DeviceLeaseOptions& lease);
Operation<absl::Duration> RenewLease(ClientImpl& client, absl::string_view id, absl::Duration time,
                                     const CallOptions& options);
Operation<std::vector<DeviceLeaseInfo>> ListLeases(ClientImpl& client, const CallOptions& options);
Operation<void> EndLease(ClientImpl& client, uint64_t number, const CallOptions& options);
Operation<void> SetDeviceAside(ClientImpl& client, absl::string_view device,
                               absl::string_view reason, const CallOptions& options);
Operation<void> DrainDevice(ClientImpl& client, absl::string_view device, absl::string_view reason,
                            const CallOptions& options);
Operation<void> ResumeDevice(ClientImpl& client, absl::string_view device,
                             const CallOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_LEASES_H_
