// File: server/pool/verify/self_test.h
//
// Known-answer test of a device: calls with hard values, held to the scalar reference.

#ifndef OPSERVE_SERVER_POOL_VERIFY_SELF_TEST_H_
#define OPSERVE_SERVER_POOL_VERIFY_SELF_TEST_H_

#include "absl/status/status.h"
#include "server/device/compute_device.h"

namespace opserve {

// What a test found.
struct SelfTestOutcome {
  // Calls that were computed and compared.
  int cases = 0;
  // OK; DATA_LOSS with operator, type, layout, element and both values of the first wrong result;
  // or the error of the first run that failed.
  absl::Status status;
};

// Runs every operator in every lane type that the device supports, in all modes: packed and strided
// calls alone, and packed ones as a batch. Takes small tensors only; the device may be at work on
// other calls meanwhile. Stops at the first failure.
SelfTestOutcome TestDevice(ComputeDevice& device);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_SELF_TEST_H_
