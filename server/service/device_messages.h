// File: server/service/device_messages.h
//
// Writes what the pool knows of devices into the messages of the wire contract. Stateless and safe
// to use from any thread.

#ifndef OPSERVE_SERVER_SERVICE_DEVICE_MESSAGES_H_
#define OPSERVE_SERVER_SERVICE_DEVICE_MESSAGES_H_

#include <span>

#include "opserve/v1/operator_service.pb.h"
#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"

namespace opserve {

// Adds a device to `info`: what it is, its state, and its counters.
void AddDevice(const DeviceStatus& device, v1::GetServerInfoResponse& info);

// Adds to the device of a lease, which is in `info`, how long it is leased.
void AddLease(const DeviceLeaseView& lease, v1::GetServerInfoResponse& info);

// Adds to every operator of `response` which devices have a kernel for which types.
void AddOperatorDevices(const DevicePool& pool, v1::ListOperatorsResponse& response);

// Adds the outcome of one device's self-test.
void AddSelfTest(const SelfTestResult& result, v1::SelfTestDevicesResponse& response);

}  // namespace opserve

#endif  // OPSERVE_SERVER_SERVICE_DEVICE_MESSAGES_H_
