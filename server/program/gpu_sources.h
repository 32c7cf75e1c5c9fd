// File: server/program/gpu_sources.h
//
// The GPUs of this machine, as a DevicePool takes them.

#ifndef OPSERVE_SERVER_PROGRAM_GPU_SOURCES_H_
#define OPSERVE_SERVER_PROGRAM_GPU_SOURCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/log.h"
#include "server/device/compute_device.h"
#include "server/program/gpu_options.h"

namespace opserve {

// Loads the run times of Direct3D 12, which may take a second, and picks devices. Logs what is
// missing on this machine, which is no error: the list is empty then. INVALID_ARGUMENT as
// SelectGpus. `logger` is used only during the call.
absl::StatusOr<std::vector<DeviceSource>> FindGpus(const GpuOptions& options, Logger& logger);

// What finds the GPUs of a server; nullptr: there are none. Looks at once for those that are named,
// so that it fails, as FindGpus does, where they are not there. `logger` must outlive the finder.
absl::StatusOr<GpuFinder> MakeGpuFinder(const GpuOptions& options, Logger& logger);

// All adapters of this machine and the run times that are missing, for people.
std::string DescribeAdapters();

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_GPU_SOURCES_H_
