// File: server/d3d12/staging_ring.h
//
// Memory that the processor and the device share, mapped once: one ring per direction. Internal to
// server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_STAGING_RING_H_
#define OPSERVE_SERVER_D3D12_STAGING_RING_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "proto/base/mutex.h"
#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/device.h"
#include "server/d3d12/ring_allocator.h"
#include "server/d3d12/runtime/api.h"

namespace opserve::d3d12 {

// Every range begins at a multiple of it.
inline constexpr uint64_t kStagingAlignment = 256;

// Thread-safe.
class StagingRing {
  // A buffer that stays mapped.
  struct Mapped {
    ComPtr<ID3D12Resource> buffer;
    std::byte* data = nullptr;
  };

 public:
  // A range on loan; goes back when destroyed. The device must be done with it by then. Must not
  // outlive the ring.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();

    ID3D12Resource* buffer() const { return buffer_.Get(); }
    uint64_t offset() const { return offset_; }
    // The mapped bytes of the range.
    std::byte* data() const { return data_; }

   private:
    friend class StagingRing;
    StagingRing* ring_ = nullptr;  // nullptr for a buffer of its own
    BufferPool<Mapped>::Lease own_;
    ComPtr<ID3D12Resource> buffer_;
    uint64_t offset_ = 0;
    std::byte* data_ = nullptr;
  };

  // A ring of `capacity` bytes, a multiple of kStagingAlignment, and up to `budget` bytes of
  // buffers for what is larger. `kind` is kUpload or kReadback; `device` must outlive the ring.
  static absl::StatusOr<std::unique_ptr<StagingRing>> Create(const Device& device, BufferKind kind,
                                                             uint64_t capacity, uint64_t budget);
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  // `bytes` (at least 1) bytes. Waits for room; RESOURCE_EXHAUSTED if there is none within
  // `timeout`, or until Close. What is larger than the ring gets a buffer of its own, which is kept
  // for the next time; RESOURCE_EXHAUSTED if the budget does not allow it.
  absl::StatusOr<Lease> Acquire(uint64_t bytes, std::chrono::nanoseconds timeout);

  // Ends all waits for room, now and later: ranges in use will not come back.
  void Close();

 private:
  StagingRing(const Device& device, BufferKind kind, uint64_t capacity, uint64_t budget)
      : device_(device),
        kind_(kind),
        capacity_(capacity),
        large_(budget, [this](uint64_t bytes) { return MakeBuffer(bytes); }),
        allocator_(capacity, kStagingAlignment) {}

  absl::StatusOr<Mapped> MakeBuffer(uint64_t bytes) const;
  absl::StatusOr<Lease> AcquireLarge(uint64_t bytes);
  std::optional<uint64_t> WaitForRoom(uint64_t bytes, std::chrono::nanoseconds timeout);
  void Release(uint64_t offset);

  const Device& device_;
  const BufferKind kind_;
  const uint64_t capacity_;
  Mapped whole_;              // the ring's memory
  BufferPool<Mapped> large_;  // for what does not fit into it
  Mutex mutex_;
  CondVar released_;
  RingAllocator allocator_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_STAGING_RING_H_
