#include "server/d3d12/staging_ring.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {

StagingRing::Lease& StagingRing::Lease::operator=(Lease&& other) noexcept {
  std::swap(ring_, other.ring_);
  std::swap(own_, other.own_);
  std::swap(buffer_, other.buffer_);
  std::swap(offset_, other.offset_);
  std::swap(data_, other.data_);
  return *this;
}

StagingRing::Lease::~Lease() {
  if (ring_ != nullptr) ring_->Release(offset_);
}

absl::StatusOr<std::unique_ptr<StagingRing>> StagingRing::Create(const Device& device,
                                                                 BufferKind kind, uint64_t capacity,
                                                                 uint64_t budget) {
  std::unique_ptr<StagingRing> ring(new StagingRing(device, kind, capacity, budget));
  absl::StatusOr<Mapped> whole = ring->MakeBuffer(capacity);
  if (!whole.ok()) return whole.status();
  ring->whole_ = *std::move(whole);
  return ring;
}

absl::StatusOr<StagingRing::Lease> StagingRing::Acquire(uint64_t bytes,
                                                        std::chrono::nanoseconds timeout) {
  if (bytes > capacity_) return AcquireLarge(bytes);
  const std::optional<uint64_t> offset = WaitForRoom(bytes, timeout);
  if (!offset) {
    return absl::ResourceExhaustedError(
        absl::StrCat("No ", bytes, " bytes of staging memory have become free in time."));
  }
  Lease lease;
  lease.ring_ = this;
  lease.buffer_ = whole_.buffer;
  lease.offset_ = *offset;
  lease.data_ = whole_.data + *offset;
  return lease;
}

absl::StatusOr<StagingRing::Lease> StagingRing::AcquireLarge(uint64_t bytes) {
  absl::StatusOr<BufferPool<Mapped>::Lease> own = large_.Acquire(bytes);
  if (!own.ok()) return own.status();
  Lease lease;
  lease.own_ = *std::move(own);
  lease.buffer_ = lease.own_->buffer;
  lease.data_ = lease.own_->data;
  return lease;
}

absl::StatusOr<StagingRing::Mapped> StagingRing::MakeBuffer(uint64_t bytes) const {
  absl::StatusOr<ComPtr<ID3D12Resource>> buffer = device_.CreateBuffer(kind_, bytes);
  if (!buffer.ok()) return buffer.status();
  // Upload memory is never read by the processor. Mapped memory needs no unmapping.
  const D3D12_RANGE nothing{0, 0};
  void* data = nullptr;
  OPSERVE_RETURN_IF_ERROR(
      OPSERVE_HRESULT((*buffer)->Map(0, kind_ == BufferKind::kUpload ? &nothing : nullptr, &data)));
  return Mapped{*std::move(buffer), static_cast<std::byte*>(data)};
}

std::optional<uint64_t> StagingRing::WaitForRoom(uint64_t bytes, std::chrono::nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  std::optional<uint64_t> offset = allocator_.Allocate(bytes);
  while (!offset && !is_closed_) {
    const bool is_late = !released_.WaitUntil(mutex_, deadline);
    offset = allocator_.Allocate(bytes);
    if (is_late) break;
  }
  return offset;
}

void StagingRing::Close() {
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
  }
  released_.NotifyAll();
}

void StagingRing::Release(uint64_t offset) {
  {
    MutexLock lock(mutex_);
    allocator_.Release(offset);
  }
  released_.NotifyAll();
}

}  // namespace opserve::d3d12
