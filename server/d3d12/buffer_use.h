// File: server/d3d12/buffer_use.h
//
// What stands between two uses of a buffer in one command list. Pure: knows no buffers and no
// commands.

#ifndef OPSERVE_SERVER_D3D12_BUFFER_USE_H_
#define OPSERVE_SERVER_D3D12_BUFFER_USE_H_

#include <cstdint>

namespace opserve::d3d12 {

// How commands use a buffer of results.
enum class BufferUse : uint8_t {
  kNone,        // not yet in this command list
  kRead,        // by kernels
  kWritten,     // by a kernel
  kCopiedFrom,  // read by copies
};

enum class BufferBarrier : uint8_t {
  kNone,
  kTransition,  // from the state of one use to that of the other
  kWrites,      // between writes in the same state: Direct3D's barrier of unordered access views
};

// What must stand between use `before` and use `after`, so that the later one sees what the earlier
// one did and does not overtake it. Buffers leave the common state by themselves, so nothing has to
// precede their first use.
constexpr BufferBarrier BarrierBetween(BufferUse before, BufferUse after) {
  if (before == BufferUse::kNone) return BufferBarrier::kNone;
  if (before != after) return BufferBarrier::kTransition;
  return after == BufferUse::kWritten ? BufferBarrier::kWrites : BufferBarrier::kNone;
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_BUFFER_USE_H_
