// File: server/resident/resident_tensor.h
//
// A tensor that stays at the server between requests.

#ifndef OPSERVE_SERVER_RESIDENT_RESIDENT_TENSOR_H_
#define OPSERVE_SERVER_RESIDENT_RESIDENT_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/tensor_bytes.h"
#include "kernels/tensor_desc.h"
#include "proto/base/host_buffers.h"
#include "proto/base/mutex.h"
#include "proto/base/sha256.h"
#include "server/base/quota_ledger.h"
#include "server/resident/tensor_content.h"

namespace opserve {

// What a tensor held at some time: bytes that nobody changes any more.
struct TensorSnapshot {
  // nullptr where they were unread.
  std::shared_ptr<const std::byte> data;
  // kNoContent where the tensor is placed on no device, so that none keeps a copy.
  ContentId content = kNoContent;
  // What keeps them as they are.
  std::shared_ptr<TensorContent> share;

  // To be used while the snapshot lives.
  TensorBytes bytes() const {
    return data == nullptr ? TensorBytes(*share) : TensorBytes(data.get(), content);
  }
};

// Where a tensor is placed.
struct TensorHome {
  // Empty: nowhere.
  absl::string_view device = {};
  // Whether results may stay there alone, and be lost with it.
  bool is_volatile = false;
};

// Its content lies in the host's memory, whatever devices do with copies of it, or is unread: see
// TensorContent. Readers get snapshots; a write or a result makes a new content where someone reads
// the present one. So nobody ever sees half a write. Thread-safe; a thread may wait while another
// one writes. Functions that need memory throw std::bad_alloc, and those that fetch ContentLost.
//
// The charge of the tensor counts for its present content. What it held before, and what it held at
// its end, stays charged while it is read, or needed for unread contents, and no other tensor has
// it: a change that leaves such a content behind takes a second charge first, and is TENSOR_QUOTA
// where there is none to be had.
// Unread ones that nobody reads take no memory, and no charge.
class ResidentTensor {
 public:
  // Copies bytes to where its argument points.
  using Fill = absl::FunctionRef<void(std::byte*)>;

  // A tensor with `bytes` bytes, as many as `desc` needs. `content`: nullptr for zeros. `expected`:
  // the digest that the client says it will write. `charge`: for the content, set. `buffers` and
  // the name of the home must outlive the tensor.
  ResidentTensor(const TensorDesc& desc, uint64_t bytes, std::shared_ptr<TensorContent> content,
                 std::optional<Sha256Digest> expected, HostBufferPool& buffers, QuotaCharge charge,
                 const TensorHome& home = {});
  ~ResidentTensor();
  ResidentTensor(const ResidentTensor&) = delete;
  ResidentTensor& operator=(const ResidentTensor&) = delete;

  const TensorDesc& desc() const { return desc_; }
  uint64_t bytes() const { return bytes_; }
  // The device that requests with this tensor run on, and that keeps a copy of the content; empty:
  // any device, and none.
  absl::string_view device() const { return home_.device; }
  bool is_volatile() const { return home_.is_volatile; }

  // The id of the content as it is now; kNoContent where nobody has read or written it yet, or
  // where the tensor is placed on no device.
  ContentId content();

  // The content as it is now: `bytes()` bytes, which may be unread.
  TensorSnapshot Snapshot();

  // The content; nullptr unless it is unread.
  std::shared_ptr<TensorContent> unread();

  // A copy of `bytes` bytes from `offset` on, which are in the tensor. It leaves nothing that is
  // still read. Fetches unread ones.
  HostBuffer Copy(uint64_t offset, uint64_t bytes);

  // Replaces the `bytes` bytes from `offset` on, which are in the tensor, by what `fill` writes.
  // Where the writes so far, from the first byte to the last, have given the tensor the content
  // that it is expected to have, returns that content; otherwise nullptr. TENSOR_QUOTA. Fetches
  // what is unread, unless all of it is replaced.
  absl::StatusOr<std::shared_ptr<TensorContent>> Write(uint64_t offset, uint64_t bytes, Fill fill);

  // Replaces the content by the first `bytes()` bytes of `buffer`. `content`: their id, if a device
  // may know them by it; otherwise they get one of their own. TENSOR_QUOTA.
  absl::Status Replace(HostBuffer buffer, ContentId content = kNoContent);
  // The same by another content of bytes() bytes, which no tensor has.
  absl::Status Replace(std::shared_ptr<TensorContent> fresh);

 private:
  // A content that the tensor holds beside its present one: the one that is to take its place, and
  // then the one that had it, with what that is charged with. Contents have locks of their own, so
  // it is held before the tensor's lock, and let go after it.
  struct OtherContent {
    OtherContent() = default;
    explicit OtherContent(std::shared_ptr<TensorContent> fresh) { Hold(std::move(fresh)); }
    ~OtherContent() {
      if (content != nullptr) content->LetGo(std::move(charge));
    }
    OtherContent(const OtherContent&) = delete;
    OtherContent& operator=(const OtherContent&) = delete;

    // To be called while there is none.
    void Hold(std::shared_ptr<TensorContent> fresh) {
      content = std::move(fresh);
      content->Hold();
    }

    std::shared_ptr<TensorContent> content;
    QuotaCharge charge;
  };

  // Whether the present content stays with its readers, or with what may have to be computed from
  // it, when another one takes its place.
  bool LeavesContentBehind() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return content_ != nullptr &&
           (content_->is_read() || (content_->is_needed() && !content_->is_unread()));
  }
  // Brings the present content to the host's memory.
  void FetchPresent();
  // Charges `other` with as much as the tensor. TENSOR_QUOTA.
  absl::Status Charge(OtherContent& other) const;
  // Copies the content, or zeros where there is none, to `target`, without the bytes from `offset`
  // to `end`.
  void CopyAround(uint64_t offset, uint64_t end, std::byte* target)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes note of a write. Whether the content is now the expected one.
  bool Digest(uint64_t offset, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TensorDesc desc_;
  const uint64_t bytes_;
  const std::optional<Sha256Digest> expected_;
  HostBufferPool& buffers_;
  // Moved from by the destructor alone.
  QuotaCharge charge_;
  const TensorHome home_;

  Mutex mutex_;
  std::shared_ptr<TensorContent> content_ ABSL_GUARDED_BY(mutex_);
  // The digest of the first `digested_` bytes, while writes come in order.
  std::unique_ptr<Sha256> sha256_ ABSL_GUARDED_BY(mutex_);
  uint64_t digested_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RESIDENT_RESIDENT_TENSOR_H_
