// File: server/lease/lease_stream.h
//
// A call of LeaseDevice: a stream that lasts as long as the lease, and the lease as the stream.

#ifndef OPSERVE_SERVER_LEASE_LEASE_STREAM_H_
#define OPSERVE_SERVER_LEASE_LEASE_STREAM_H_

#include <memory>

#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"
#include "server/rpc/stream_call.h"

namespace opserve {

// Works on a stream of LeaseDevice. All must outlive the stream.
std::unique_ptr<StreamHandler> StartLeaseDevice(DeviceLeases& leases, const DevicePool& pool,
                                                StreamCall& call);

}  // namespace opserve

#endif  // OPSERVE_SERVER_LEASE_LEASE_STREAM_H_
