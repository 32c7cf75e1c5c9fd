// File: tests/gpu/system_runtime.h
//
// Devices over the Direct3D 12 of singleton_d3d12.h. Not in one program with test_device.h's or
// faulty_runtime.h's run time, which are compiled for libvkd3d itself.

#ifndef OPSERVE_TESTS_GPU_SYSTEM_RUNTIME_H_
#define OPSERVE_TESTS_GPU_SYSTEM_RUNTIME_H_

#include <memory>

#include "absl/status/statusor.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::testing {

// The run time, loaded once, with one adapter.
const absl::StatusOr<std::shared_ptr<const d3d12::Runtime>>& SystemRuntime();

// For the SetUp of tests: skips them, with the reason, where the machine lacks the libraries,
// unless "gpu" is required (tests/testing/required.h). Nothing is odd and no fault armed then.
void RequireSystemRuntime();

// A device on the adapter.
absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>> MakeSystemDevice(
    const d3d12::DeviceOptions& options);

// Waits, for a minute, until there is no device, and no memory of any.
void ExpectAllReleased();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_SYSTEM_RUNTIME_H_
