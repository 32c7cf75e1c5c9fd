#include "server/resident/resident_tensor.h"

#include <cstring>

#include "server/resident/tensor_quota.h"

namespace opserve {

ResidentTensor::ResidentTensor(const TensorDesc& desc, uint64_t bytes,
                               std::shared_ptr<TensorContent> content,
                               std::optional<Sha256Digest> expected, HostBufferPool& buffers,
                               QuotaCharge charge, const TensorHome& home)
    : desc_(desc),
      bytes_(bytes),
      expected_(expected),
      buffers_(buffers),
      charge_(std::move(charge)),
      home_(home),
      content_(std::move(content)) {
  if (content_ != nullptr) content_->Hold();
}

ResidentTensor::~ResidentTensor() {
  if (content_ != nullptr) content_->LetGo(std::move(charge_));
}

ContentId ResidentTensor::content() {
  MutexLock lock(mutex_);
  return home_.device.empty() || content_ == nullptr ? kNoContent : content_->content();
}

TensorSnapshot ResidentTensor::Snapshot() {
  OtherContent zeros;
  while (true) {
    {
      MutexLock lock(mutex_);
      if (content_ == nullptr && zeros.content != nullptr) {
        CopyAround(0, 0, zeros.content->data());
        std::swap(content_, zeros.content);
      }
      if (content_ != nullptr) {
        std::shared_ptr<TensorContent> share = TensorContent::Share(content_);
        return {
            {share, share->data()}, home_.device.empty() ? kNoContent : share->content(), share};
      }
    }
    // Zeros take no memory until someone asks for them.
    zeros.Hold(std::make_shared<TensorContent>(buffers_.Take(bytes_), bytes_));
  }
}

std::shared_ptr<TensorContent> ResidentTensor::unread() {
  MutexLock lock(mutex_);
  return content_ != nullptr && content_->is_unread() ? content_ : nullptr;
}

void ResidentTensor::FetchPresent() {
  if (const std::shared_ptr<TensorContent> content = unread()) content->Fetch();
}

HostBuffer ResidentTensor::Copy(uint64_t offset, uint64_t bytes) {
  HostBuffer copy = buffers_.Take(bytes);
  while (true) {
    FetchPresent();
    MutexLock lock(mutex_);
    // Another unread one may have taken its place.
    if (content_ != nullptr && content_->is_unread()) continue;
    if (content_ == nullptr) {
      std::memset(copy.data(), 0, bytes);
    } else {
      std::memcpy(copy.data(), content_->data() + offset, bytes);
    }
    return copy;
  }
}

absl::StatusOr<std::shared_ptr<TensorContent>> ResidentTensor::Write(uint64_t offset,
                                                                     uint64_t bytes, Fill fill) {
  OtherContent other;
  const bool replaces_all = bytes == bytes_;
  while (true) {
    bool needs_charge = false;
    if (!replaces_all) FetchPresent();
    {
      MutexLock lock(mutex_);
      if (content_ != nullptr && content_->is_unread() && !replaces_all) continue;
      const bool is_writable = content_ != nullptr && content_->is_writable();
      needs_charge = LeavesContentBehind() && !other.charge.is_set();
      if (is_writable || (other.content != nullptr && !needs_charge)) {
        if (is_writable) {
          content_->Renew();
        } else {
          CopyAround(offset, offset + bytes, other.content->data());
          std::swap(content_, other.content);
        }
        fill(content_->data() + offset);
        if (!Digest(offset, bytes)) return nullptr;
        content_->digest = expected_;
        return content_;
      }
    }
    // Memory and charges have locks of their own.
    if (needs_charge) {
      if (absl::Status status = Charge(other); !status.ok()) return status;
    }
    if (other.content == nullptr) {
      other.Hold(std::make_shared<TensorContent>(buffers_.Take(bytes_), bytes_));
    }
  }
}

absl::Status ResidentTensor::Replace(HostBuffer buffer, ContentId content) {
  return Replace(std::make_shared<TensorContent>(std::move(buffer), bytes_,
                                                 content == kNoContent ? NewContentId() : content));
}

absl::Status ResidentTensor::Replace(std::shared_ptr<TensorContent> fresh) {
  OtherContent other(std::move(fresh));
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!LeavesContentBehind() || other.charge.is_set()) {
        std::swap(content_, other.content);
        sha256_.reset();
        return absl::OkStatus();
      }
    }
    if (absl::Status status = Charge(other); !status.ok()) return status;
  }
}

absl::Status ResidentTensor::Charge(OtherContent& other) const {
  QuotaTaking taking = charge_.TakeSame();
  if (taking.shortage) return OverTensorQuota(*taking.shortage);
  other.charge = std::move(taking.charge);
  return absl::OkStatus();
}

void ResidentTensor::CopyAround(uint64_t offset, uint64_t end, std::byte* target) {
  // Of what is unread nothing is left.
  if (content_ == nullptr || content_->is_unread()) {
    std::memset(target, 0, offset);
    std::memset(target + end, 0, bytes_ - end);
  } else {
    std::memcpy(target, content_->data(), offset);
    std::memcpy(target + end, content_->data() + end, bytes_ - end);
  }
}

bool ResidentTensor::Digest(uint64_t offset, uint64_t bytes) {
  if (!expected_) return false;
  if (offset == 0) {
    sha256_ = std::make_unique<Sha256>();
    digested_ = 0;
  }
  if (sha256_ == nullptr || offset != digested_) {
    sha256_.reset();
    return false;
  }
  sha256_->Add({content_->data() + offset, bytes});
  digested_ += bytes;
  if (digested_ != bytes_) return false;
  const Sha256Digest digest = sha256_->Finish();
  sha256_.reset();
  return digest == *expected_;
}

}  // namespace opserve
