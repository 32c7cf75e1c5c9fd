// File: server/lease/lease_calls.h
//
// The methods about leases of devices, and what requests about them have to obey. Thread-safe.

#ifndef OPSERVE_SERVER_LEASE_LEASE_CALLS_H_
#define OPSERVE_SERVER_LEASE_LEASE_CALLS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "opserve/v1/device_lease.pb.h"
#include "server/base/clock.h"
#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"
#include "server/rpc/rpc_service.h"

namespace opserve {

// Longest label of a lease, and longest reason for setting a device aside, in bytes.
inline constexpr size_t kMaxLeaseLabelBytes = 128;

// OK where `name` names a GPU of the pool: INVALID_REQUEST for the processor, DEVICE_NOT_FOUND for
// what is no device.
absl::Status CheckGpuName(const std::string& name, const DevicePool& pool);

// The same for the device of the request, which may be left out where there is a GPU
// (DEVICE_UNAVAILABLE), and its label.
absl::Status CheckLeaseRequest(const v1::LeaseDeviceRequest& request, const DevicePool& pool);

// The time that a request asks for.
Clock::Duration WantedLeaseTime(uint32_t seconds);

// What is left of a time, as messages tell it: not 0 where there is any.
uint64_t LeaseMilliseconds(Clock::Duration left);

// Adds LeaseDevice, RenewLease and ReleaseLease. All must outlive the service.
void AddLeaseMethods(RpcService& rpc, const MethodLimits& stream, const MethodLimits& control,
                     DeviceLeases& leases, const DevicePool& pool);

}  // namespace opserve

#endif  // OPSERVE_SERVER_LEASE_LEASE_CALLS_H_
