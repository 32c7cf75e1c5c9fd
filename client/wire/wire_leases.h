// File: client/wire/wire_leases.h
//
// Between the client's types and the messages about leases of devices. Stateless and safe to use
// from any thread.

#ifndef OPSERVE_CLIENT_WIRE_WIRE_LEASES_H_
#define OPSERVE_CLIENT_WIRE_WIRE_LEASES_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "opserve/device_lease.h"
#include "opserve/v1/admin_service.pb.h"
#include "opserve/v1/device_lease.pb.h"

namespace opserve::client_internal {

// Rounded up; as many as messages can say at most.
uint32_t LeaseSeconds(absl::Duration time);

v1::LeaseDeviceRequest EncodeLease(const DeviceLeaseOptions& lease);
std::vector<DeviceLeaseInfo> DecodeLeases(const v1::ListLeasesResponse& response);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_WIRE_LEASES_H_
