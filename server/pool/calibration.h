// File: server/pool/calibration.h
//
// Measures a device before it serves, so that the first requests are placed well.

#ifndef OPSERVE_SERVER_POOL_CALIBRATION_H_
#define OPSERVE_SERVER_POOL_CALIBRATION_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/base/clock.h"
#include "server/device/compute_device.h"
#include "server/pool/cost_model.h"

namespace opserve {

// Bytes of the small size.
inline constexpr uint32_t kSmallCalibrationBytes = uint32_t{64} << 10;

// Runs the lanes that stand for all, packed and strided, at a small and a large size of the lane's
// input: one shows the time per call, one that per byte. Runs a chain of steps, too, where the
// device has kernels for it. Puts the times into `costs`, which then estimates other lanes, and
// sequences, like them. Before that it has the device work until its clocks and its bus have had
// time to speed up. `large_bytes`: at most a GiB. What the device has no memory for is measured
// with less, or not at all. Fails with the first other run that fails.
absl::Status Calibrate(ComputeDevice& device, const Clock& clock, uint64_t large_bytes,
                       CostModel& costs);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_CALIBRATION_H_
