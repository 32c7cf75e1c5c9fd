// File: server/pool/calibration.h
//
// Measures a device before it serves, so that the first requests are placed well.

#ifndef OPSERVE_SERVER_POOL_CALIBRATION_H_
#define OPSERVE_SERVER_POOL_CALIBRATION_H_

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/device/compute_device.h"
#include "server/pool/cost_model.h"

namespace opserve {

// Runs the lanes that stand for all, packed and strided, at a small and a large size, and puts the
// times into `costs`, which then estimates other lanes like them. Fails with the first run that
// fails.
absl::Status Calibrate(ComputeDevice& device, const Clock& clock, CostModel& costs);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_CALIBRATION_H_
