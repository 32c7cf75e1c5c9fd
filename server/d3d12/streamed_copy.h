// File: server/d3d12/streamed_copy.h
//
// Copies past the caches: what is larger than them is not read again before it has left them, and
// to write a line into them it would have to be read first.

#ifndef OPSERVE_SERVER_D3D12_STREAMED_COPY_H_
#define OPSERVE_SERVER_D3D12_STREAMED_COPY_H_

#include <cstddef>
#include <cstdint>

namespace opserve::d3d12 {

// memcpy with non-temporal stores. Other threads, and the device, see the bytes as after memcpy.
void StreamedCopy(std::byte* to, const std::byte* from, uint64_t bytes);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_STREAMED_COPY_H_
