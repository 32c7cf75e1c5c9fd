// File: server/program/lease_options.h
//
// The flags about leases of devices.

#ifndef OPSERVE_SERVER_PROGRAM_LEASE_OPTIONS_H_
#define OPSERVE_SERVER_PROGRAM_LEASE_OPTIONS_H_

#include "server/lease/lease_table.h"

namespace CLI {
class App;
}  // namespace CLI

namespace opserve {

// Adds the flags; they are written to `limits`, which must outlive the parse.
void AddDeviceLeaseOptions(CLI::App& app, DeviceLeaseLimits& limits);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_LEASE_OPTIONS_H_
