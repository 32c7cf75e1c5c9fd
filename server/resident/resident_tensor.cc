#include "server/resident/resident_tensor.h"

#include <cstring>

namespace opserve {

ContentId NewContentId() {
  static std::atomic<ContentId> last = kNoContent;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<const std::byte> TensorContent::Share(std::shared_ptr<TensorContent> content) {
  const std::byte* const data = content->data();
  content->readers_.fetch_add(1, std::memory_order_relaxed);
  // What the reader did comes before what a later writer does.
  return {data, [content = std::move(content)](const std::byte*) {
            content->readers_.fetch_sub(1, std::memory_order_release);
          }};
}

ResidentTensor::ResidentTensor(const TensorDesc& desc, uint64_t bytes,
                               std::shared_ptr<TensorContent> content,
                               std::optional<Sha256Digest> expected, HostBufferPool& buffers,
                               absl::string_view device)
    : desc_(desc),
      bytes_(bytes),
      expected_(expected),
      buffers_(buffers),
      device_(device),
      content_(std::move(content)) {}

ContentId ResidentTensor::content() {
  MutexLock lock(mutex_);
  return device_.empty() || content_ == nullptr ? kNoContent : content_->id;
}

TensorSnapshot ResidentTensor::Snapshot() {
  MutexLock lock(mutex_);
  // Zeros take no memory until someone asks for them.
  if (content_ == nullptr) MakeWritable(0, 0);
  return {TensorContent::Share(content_), device_.empty() ? kNoContent : content_->id};
}

std::shared_ptr<TensorContent> ResidentTensor::Write(uint64_t offset, uint64_t bytes, Fill fill) {
  MutexLock lock(mutex_);
  MakeWritable(offset, offset + bytes);
  fill(content_->data() + offset);
  if (!Digest(offset, bytes)) return nullptr;
  content_->digest = expected_;
  return content_;
}

void ResidentTensor::Replace(HostBuffer buffer, ContentId content) {
  auto fresh = std::make_shared<TensorContent>(std::move(buffer), bytes_,
                                               content == kNoContent ? NewContentId() : content);
  MutexLock lock(mutex_);
  // The old one is freed after the lock.
  content_.swap(fresh);
  sha256_.reset();
}

void ResidentTensor::MakeWritable(uint64_t offset, uint64_t end) {
  if (content_ != nullptr && content_->is_writable()) {
    content_->id = NewContentId();
    return;
  }
  auto fresh = std::make_shared<TensorContent>(buffers_.Take(bytes_), bytes_);
  std::byte* const target = fresh->data();
  if (content_ == nullptr) {
    std::memset(target, 0, offset);
    std::memset(target + end, 0, bytes_ - end);
  } else {
    std::memcpy(target, content_->data(), offset);
    std::memcpy(target + end, content_->data() + end, bytes_ - end);
  }
  content_ = std::move(fresh);
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
