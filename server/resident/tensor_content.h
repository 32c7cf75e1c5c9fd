// File: server/resident/tensor_content.h
//
// The bytes of resident tensors: in the host's memory, or on a device alone until somebody reads
// them, and computed again where the device has lost them.

#ifndef OPSERVE_SERVER_RESIDENT_TENSOR_CONTENT_H_
#define OPSERVE_SERVER_RESIDENT_TENSOR_CONTENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "kernels/tensor_bytes.h"
#include "proto/base/host_buffers.h"
#include "proto/base/mutex.h"
#include "proto/base/sha256.h"
#include "server/base/quota_ledger.h"

namespace opserve {

// An id that no content has had before. Thread-safe.
ContentId NewContentId();

// Where bytes come from that a device alone has. Several threads may use it at a time.
class ContentOrigin {
 public:
  virtual ~ContentOrigin() = default;

  // Has the device hand over what it keeps of `content`: as many bytes as `to` has. False where it
  // has them no more, or is not to be asked. Where there is no other way to have them, throws
  // ContentLost then.
  virtual bool Read(ContentId content, std::span<std::byte> to) const = 0;

  // Computes the bytes again from what the host has, without the device. Throws std::bad_alloc.
  virtual void Compute(std::byte* to) const = 0;

  // Runs of operators that Compute takes at most, at least 1; nullopt: they cannot be computed.
  virtual std::optional<int> steps() const = 0;
};

// The bytes of a tensor, or of several. They change only while nobody reads them and no other
// content is to be computed from them, and never once they have a digest.
//
// Unread ones, which a device alone has, take no memory of the host. Whoever fetches them has them
// brought there, and they are like all others from then on.
class TensorContent final : public UnreadBytes, public std::enable_shared_from_this<TensorContent> {
 public:
  // The first `bytes` bytes of `buffer`, which nobody but their device knows by `id`.
  TensorContent(HostBuffer buffer, uint64_t bytes, ContentId id = NewContentId())
      : bytes_(bytes), id_(id), buffer_(std::move(buffer)) {}
  // Unread ones, which their device keeps as `id`. `buffers` must outlive the content.
  TensorContent(std::shared_ptr<const ContentOrigin> origin, uint64_t bytes, ContentId id,
                HostBufferPool& buffers)
      : bytes_(bytes), id_(id), unread_(std::make_unique<Unread>(std::move(origin), buffers)) {}

  // Whether they have to be fetched before anybody can look at them.
  bool is_unread() const {
    return unread_ != nullptr && !unread_->is_done.load(std::memory_order_acquire);
  }
  // Whether they are unread, and nothing can take the place of the device that has them.
  bool is_volatile() const;
  // nullptr while they are unread.
  std::byte* data() const { return is_unread() ? nullptr : buffer_.data(); }
  uint64_t bytes() const { return bytes_; }
  // Where unread bytes come from; nullptr: they are here.
  std::shared_ptr<const ContentOrigin> origin() const;

  // Names the bytes as they are now.
  ContentId content() const override { return id_.load(std::memory_order_acquire); }
  // They are to be others: for whoever writes to them, under the lock of the tensor.
  void Renew() { id_.store(NewContentId(), std::memory_order_release); }
  // One thread fetches, others wait for it.
  TensorBytes Fetch() override;

  // Whether someone reads it: for a tensor that has this content, under its lock.
  bool is_read() const { return readers_.load(std::memory_order_acquire) != 0; }
  // Whether other contents may have to be computed from it: the same.
  bool is_needed() const { return dependents_.load(std::memory_order_acquire) != 0; }
  // Whether bytes may be written to: the same. Readers may come to need it, so they go first.
  bool is_writable() const { return !digest && !is_unread() && !is_read() && !is_needed(); }

  // A tensor has this content from here on, or is about to, and its charge counts for it: what the
  // content is charged with by itself is given back. With no lock held.
  void Hold();
  // A tensor does not have it any more. If it was the last one, `charge` counts for the content
  // while it lives and no tensor has it again. With no lock held.
  void LetGo(QuotaCharge charge);

  // A reader's share: the bytes stay as they are while it lives. Under the lock of the tensor that
  // has the content, unless that has a digest.
  static std::shared_ptr<TensorContent> Share(std::shared_ptr<TensorContent> content);
  // The share of another content's origin, likewise. For a reader, which need not stay.
  static std::shared_ptr<TensorContent> ShareOfOrigin(TensorContent& read);

  // Set by the tensor that has this content alone, before anyone else can see it.
  std::optional<Sha256Digest> digest;

 private:
  // What a content needs while it is unread.
  struct Unread {
    Unread(std::shared_ptr<const ContentOrigin> of, HostBufferPool& pool)
        : buffers(pool), origin(std::move(of)) {}

    HostBufferPool& buffers;
    Mutex mutex;
    CondVar changed;
    std::shared_ptr<const ContentOrigin> origin ABSL_GUARDED_BY(mutex);
    bool is_fetching ABSL_GUARDED_BY(mutex) = false;
    std::atomic<bool> is_done{false};
  };

  // Waits while another thread fetches. Where the bytes come from, for this thread to fetch them;
  // nullptr: they are here.
  std::shared_ptr<const ContentOrigin> BeginFetch();
  // The bytes are here, or this thread does not fetch them any more.
  void EndFetch(bool is_done);

  Mutex holders_mutex_;
  int holders_ ABSL_GUARDED_BY(holders_mutex_) = 0;
  // Set only while there are no holders. Given back after the buffer.
  QuotaCharge charge_ ABSL_GUARDED_BY(holders_mutex_);
  const uint64_t bytes_;
  std::atomic<ContentId> id_;
  // Unread contents have none before is_done is set.
  HostBuffer buffer_;
  // nullptr where the bytes were here from the beginning.
  const std::unique_ptr<Unread> unread_;
  std::atomic<int> readers_{0};
  std::atomic<int> dependents_{0};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RESIDENT_TENSOR_CONTENT_H_
