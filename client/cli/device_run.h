// File: client/cli/device_run.h
//
// Calls on GPUs of a server that are chosen by name. Stateless.

#ifndef OPSERVE_CLIENT_CLI_DEVICE_RUN_H_
#define OPSERVE_CLIENT_CLI_DEVICE_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "opserve/client.h"

namespace opserve::cli {

// What came of a call that one GPU was to run.
struct DeviceRun {
  std::string device;                 // as in DeviceInfo::name
  std::optional<Tensor> result = {};  // where that GPU computed it
  std::string failure = {};           // why there is no result
  bool is_unsupported = false;        // the GPU has no kernel for the call; no fault of it
  absl::Duration round_trip = {};     // of the call
};

// The GPUs called `names`, or all where "all" is among them, in the order of the server. NOT_FOUND
// where there is no GPU of a name.
absl::StatusOr<std::vector<DeviceInfo>> SelectGpus(const std::vector<DeviceInfo>& devices,
                                                   const std::vector<std::string>& names);

// Runs `call` on `device`, which is leased meanwhile so that nothing else answers. Waits for the
// lease for at most `limit`.
DeviceRun RunOnDevice(Client& client, const DeviceInfo& device, OperatorCall call,
                      absl::Duration limit);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_DEVICE_RUN_H_
