// File: tests/gpu/faulty_runtime.h
//
// Devices over the Vulkan driver that tests have fail. Not in one program with test_device.h: a
// process has one Vulkan loader.

#ifndef OPSERVE_TESTS_GPU_FAULTY_RUNTIME_H_
#define OPSERVE_TESTS_GPU_FAULTY_RUNTIME_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::testing {

// The run time over that driver, with what it lists now.
absl::StatusOr<std::shared_ptr<const d3d12::Runtime>> LoadFaultyRuntime();

// The same, loaded once.
const absl::StatusOr<std::shared_ptr<const d3d12::Runtime>>& FaultyRuntime();

// For the SetUp of tests: skips them, with the reason, where the machine has no run time or no
// adapter, unless "gpu" is required (tests/testing/required.h).
void RequireFaultyRuntime();

// A device on the first hardware adapter, else on the first software adapter, of FaultyRuntime() or
// of another run time over that driver.
absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> MakeFaultyDevice(
    const d3d12::DeviceOptions& options);
absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> MakeFaultyDevice(
    std::shared_ptr<const d3d12::Runtime> runtime, const d3d12::DeviceOptions& options);

// Waits, for a minute, until there are so many devices.
void ExpectDevices(int count);
// Waits, for a minute, until there is no device and no memory of any.
void ExpectAllFreed();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_FAULTY_RUNTIME_H_
