// File: server/cpu_device.h
//
// The processor as a ComputeDevice.

#ifndef OPSERVE_SERVER_CPU_DEVICE_H_
#define OPSERVE_SERVER_CPU_DEVICE_H_

#include <span>
#include <string>

#include "kernels/cpu/cpu_executor.h"
#include "server/compute_device.h"

namespace opserve {

// Runs calls with opserve's SIMD kernels. Thread-safe.
class CpuDevice final : public ComputeDevice {
 public:
  // `threads`: as for CpuExecutor; 0 takes one per processor.
  explicit CpuDevice(int threads);

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  int threads() const override { return executor_.threads(); }
  void Run(const Invocation& invocation, std::span<const std::byte* const> inputs,
           std::byte* output) const override {
    executor_.Run(invocation, inputs, output);
  }

 private:
  const CpuExecutor executor_;
  const std::string name_;
  const std::string description_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_CPU_DEVICE_H_
