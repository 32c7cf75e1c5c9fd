// File: server/d3d12/runtime/adapter_info.h
//
// What is known of a graphics adapter before a device is made for it. Plain values.

#ifndef OPSERVE_SERVER_D3D12_RUNTIME_ADAPTER_INFO_H_
#define OPSERVE_SERVER_D3D12_RUNTIME_ADAPTER_INFO_H_

#include <cstdint>
#include <string>

namespace opserve::d3d12 {

struct AdapterInfo {
  // Position in Runtime::adapters().
  int index = 0;
  // Runtime::name() of the run time that found it: "vkd3d".
  std::string runtime;
  // The driver's name for it: "NVIDIA H100".
  std::string name;
  // The driver and its version.
  std::string driver;
  // PCI ids; 0 or made up where there is no such hardware.
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  // The system's number of it until it restarts, or has another driver; 0 where none is known.
  uint64_t luid = 0;
  // Whether the processor does the work.
  bool is_software = false;
  // Bytes of its own memory; of the machine's where it shares that.
  uint64_t memory_bytes = 0;
  // Bytes of the largest buffer that kernels can address.
  uint64_t max_buffer_bytes = 0;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RUNTIME_ADAPTER_INFO_H_
