// File: tests/gpu/test_device.h
//
// The Direct3D 12 device that tests run on.

#ifndef OPSERVE_TESTS_GPU_TEST_DEVICE_H_
#define OPSERVE_TESTS_GPU_TEST_DEVICE_H_

#include <gtest/gtest.h>

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "server/d3d12/d3d12_device.h"
#include "server/d3d12/runtime/runtime.h"

namespace opserve::testing {

// The run time of this machine, loaded once.
const absl::StatusOr<std::shared_ptr<const d3d12::Runtime>>& TestRuntime();

// A device on the first hardware adapter, else on the first software adapter, made once.
const absl::StatusOr<std::unique_ptr<d3d12::D3D12Device>>& TestDevice();

// The call with its buffers, as devices take it.
DeviceCall CallOf(const Invocation& invocation, std::span<const std::byte* const> inputs,
                  std::byte* output);

// Runs one call alone.
absl::Status RunOne(ComputeDevice& device, const Invocation& invocation,
                    std::span<const std::byte* const> inputs, std::byte* output);

// Skips its tests, with the reason, where the machine has no run time or no adapter, unless "gpu"
// is required (tests/testing/required.h). A machine that has them and cannot make a device fails
// the tests.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;
  d3d12::D3D12Device& device() { return **TestDevice(); }

  // A device of the test's own, on the adapter of device(). Fails the test and returns nullptr if
  // there is none.
  std::unique_ptr<d3d12::D3D12Device> MakeDevice(const d3d12::DeviceOptions& options = {});
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_GPU_TEST_DEVICE_H_
