#include "server/resident/tensor_content.h"

#include "absl/cleanup/cleanup.h"

namespace opserve {

ContentId NewContentId() {
  static std::atomic<ContentId> last = kNoContent;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::shared_ptr<const ContentOrigin> TensorContent::origin() const {
  if (unread_ == nullptr) return nullptr;
  MutexLock lock(unread_->mutex);
  return unread_->origin;
}

bool TensorContent::is_volatile() const {
  const std::shared_ptr<const ContentOrigin> unread = origin();
  return unread != nullptr && !unread->steps();
}

TensorBytes TensorContent::Fetch() {
  while (const std::shared_ptr<const ContentOrigin> origin = BeginFetch()) {
    bool is_done = false;
    const absl::Cleanup end = [this, &is_done] { EndFetch(is_done); };
    HostBuffer buffer = unread_->buffers.Take(bytes_);
    const bool is_same = origin->Read(content(), {buffer.data(), bytes_});
    if (!is_same) origin->Compute(buffer.data());
    buffer_ = std::move(buffer);
    // A device that still has a copy may have other NaNs in it.
    if (!is_same) Renew();
    is_done = true;
  }
  return {data(), content()};
}

std::shared_ptr<const ContentOrigin> TensorContent::BeginFetch() {
  if (!is_unread()) return nullptr;
  MutexLock lock(unread_->mutex);
  while (unread_->is_fetching) unread_->changed.Wait(unread_->mutex);
  unread_->is_fetching = unread_->origin != nullptr;
  return unread_->origin;
}

void TensorContent::EndFetch(bool is_done) {
  // What was needed for the bytes is freed after the lock.
  std::shared_ptr<const ContentOrigin> origin;
  MutexLock lock(unread_->mutex);
  unread_->is_fetching = false;
  if (is_done) {
    origin = std::move(unread_->origin);
    unread_->origin = nullptr;
    unread_->is_done.store(true, std::memory_order_release);
  }
  unread_->changed.NotifyAll();
}

std::shared_ptr<TensorContent> TensorContent::Share(std::shared_ptr<TensorContent> content) {
  TensorContent* const shared = content.get();
  shared->readers_.fetch_add(1, std::memory_order_relaxed);
  // What the reader did comes before what a later writer does.
  return {shared, [content = std::move(content)](TensorContent*) {
            content->readers_.fetch_sub(1, std::memory_order_release);
          }};
}

std::shared_ptr<TensorContent> TensorContent::ShareOfOrigin(TensorContent& read) {
  // Not the reader's own share.
  std::shared_ptr<TensorContent> content = read.shared_from_this();
  read.dependents_.fetch_add(1, std::memory_order_relaxed);
  return {&read, [content = std::move(content)](TensorContent*) {
            content->dependents_.fetch_sub(1, std::memory_order_release);
          }};
}

void TensorContent::Hold() {
  // Charges have a lock of their own, so this one is given back after the lock.
  QuotaCharge former;
  MutexLock lock(holders_mutex_);
  if (++holders_ == 1) former = std::move(charge_);
}

void TensorContent::LetGo(QuotaCharge charge) {
  MutexLock lock(holders_mutex_);
  if (--holders_ == 0) charge_ = std::move(charge);
}

}  // namespace opserve
