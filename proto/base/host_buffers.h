// File: proto/base/host_buffers.h
//
// Memory for tensors on the host that is used again, of server and client: the pages of a fresh
// large buffer cost several times the copy into it.

#ifndef OPSERVE_PROTO_BASE_HOST_BUFFERS_H_
#define OPSERVE_PROTO_BASE_HOST_BUFFERS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace opserve {

// Every buffer begins at a multiple of this, the size of a cache line and of the largest vector.
inline constexpr size_t kHostBufferAlignment = 64;
// Bytes of the least class.
inline constexpr uint64_t kMinHostBufferBytes = 256;

// The size of the buffers that serve requests for `bytes` bytes: four classes per power of two, so
// that at most a fifth is wasted above kMinHostBufferBytes.
constexpr uint64_t HostBufferSizeOf(uint64_t bytes) {
  if (bytes <= kMinHostBufferBytes) return kMinHostBufferBytes;
  const uint64_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

class HostBufferPool;

// A buffer on loan, or nothing. Goes back to its pool when destroyed, on any thread, and may
// outlive the pool.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept { *this = std::move(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(shelf_, other.shelf_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~HostBuffer();

  std::byte* data() const { return data_; }
  // Bytes of the buffer, at least as many as were asked for.
  uint64_t size() const { return size_; }

 private:
  friend class HostBufferPool;
  class Shelf;

  std::shared_ptr<Shelf> shelf_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

// Thread-safe.
class HostBufferPool {
 public:
  // Keeps idle buffers of at most `idle_budget` bytes in all; beyond that, those that were idle for
  // longest are freed. What is on loan is not bounded here.
  explicit HostBufferPool(uint64_t idle_budget);

  // A buffer of at least `bytes` bytes, of the class HostBufferSizeOf(bytes). It holds whatever its
  // last user left: write every byte that is shown to anyone. Throws std::bad_alloc.
  HostBuffer Take(uint64_t bytes);

  // Bytes of idle buffers.
  uint64_t idle_bytes() const;

 private:
  const std::shared_ptr<HostBuffer::Shelf> shelf_;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_HOST_BUFFERS_H_
