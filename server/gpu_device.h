// File: server/gpu_device.h
//
// A device that may fail: the seam between the server and Direct3D 12.

#ifndef OPSERVE_SERVER_GPU_DEVICE_H_
#define OPSERVE_SERVER_GPU_DEVICE_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "kernels/invocation.h"

namespace opserve {

// Thread-safe.
class GpuDevice {
 public:
  virtual ~GpuDevice() = default;

  // What it is, for people: "d3d12/NVIDIA H100".
  virtual std::string name() const = 0;
  // Driver and run time, in words.
  virtual std::string description() const = 0;

  // Whether it has a kernel for the operator in this lane type.
  virtual bool Supports(OpId op, DataType lane) const = 0;

  // Computes a validated call; the buffers are those of ComputeDevice::Run. Where it fails, the
  // output holds nothing of use, and the call may run elsewhere:
  //   UNIMPLEMENTED       no kernel for it, or a tensor too large for this device
  //   RESOURCE_EXHAUSTED  out of device memory now
  //   UNAVAILABLE         the device is lost, now and for ever; also after a hang
  //   INTERNAL            anything else
  virtual absl::Status Run(const Invocation& invocation, std::span<const std::byte* const> inputs,
                           std::byte* output) = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_GPU_DEVICE_H_
