// File: server/pool/verify/self_test.h
//
// Known-answer test of a device: calls with hard values, held to the scalar reference.

#ifndef OPSERVE_SERVER_POOL_VERIFY_SELF_TEST_H_
#define OPSERVE_SERVER_POOL_VERIFY_SELF_TEST_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "server/device/compute_device.h"
#include "server/pool/verify/kernel_lane.h"

namespace opserve {

// What a test found.
struct SelfTestOutcome {
  // Calls that were computed and compared.
  int cases = 0;
  // OK; DATA_LOSS with operator, type, layout, element and both values of the first wrong result;
  // or the error of the first run that failed.
  absl::Status status;
  // Where it is not OK: whose test it was.
  std::optional<KernelLane> failed = {};
  // What passed, and what the device turned out to have no kernels for, which is no failure.
  std::vector<KernelLane> passed = {};
  std::vector<KernelLane> refused = {};
};

// Runs each of `lanes`, with all output types and settings but a ScaleBias: packed and strided
// calls alone, and packed ones as a batch. Takes small tensors only; the device may be at work on
// other calls meanwhile. Stops at the first failure.
SelfTestOutcome TestLanes(ComputeDevice& device, std::span<const KernelLane> lanes);

// The same for everything that the device has kernels for.
SelfTestOutcome TestDevice(ComputeDevice& device);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_SELF_TEST_H_
