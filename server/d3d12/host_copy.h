// File: server/d3d12/host_copy.h
//
// Bytes that the host has to copy from one place to another.

#ifndef OPSERVE_SERVER_D3D12_HOST_COPY_H_
#define OPSERVE_SERVER_D3D12_HOST_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace opserve::d3d12 {

struct HostCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  uint64_t bytes = 0;
};
// No two of them overlap, so their order does not matter.
using HostCopies = std::vector<HostCopy>;

// Does all of `copies`, in the calling thread.
inline void CopyAll(std::span<const HostCopy> copies) {
  for (const HostCopy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_HOST_COPY_H_
