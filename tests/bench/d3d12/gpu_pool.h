// File: tests/bench/d3d12/gpu_pool.h
//
// A pool of the processor and one device, as the server has it.

#ifndef OPSERVE_TESTS_BENCH_D3D12_GPU_POOL_H_
#define OPSERVE_TESTS_BENCH_D3D12_GPU_POOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/pool/device_pool.h"

namespace opserve::bench {

// Waits until the device has joined, tested and measured. Fails where it does not.
absl::StatusOr<std::unique_ptr<DevicePool>> MakeGpuPool(const DeviceProfile& profile,
                                                        DeviceFactory create);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_D3D12_GPU_POOL_H_
