#include "server/resident/tensor_store.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/base/random_id.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

constexpr std::chrono::seconds kRetryDelay{1};

absl::Status Refused(const std::string& field, const std::string& why) {
  const Violation violation{field, why};
  return MakeViolationError(violation);
}

absl::Status OverQuota(absl::string_view whose, uint64_t used, uint64_t asked, uint64_t limit) {
  return MakeRetryableError(
      ErrorReason::TENSOR_QUOTA,
      absl::StrCat("The resident tensors of ", whose, " take ", used, " bytes; with ", asked,
                   " more they would exceed the quota of ", limit, " bytes."),
      kRetryDelay, {{"limit", absl::StrCat(limit)}});
}

absl::Status TooManyTensors(size_t limit) {
  return MakeRetryableError(
      ErrorReason::TENSOR_QUOTA,
      absl::StrCat("This client has as many resident tensors as it may (", limit, ")."),
      kRetryDelay, {{"limit", absl::StrCat(limit)}});
}

}  // namespace

absl::Status TensorNotFound(absl::string_view handle) {
  return MakeError(
      ErrorReason::TENSOR_NOT_FOUND,
      absl::StrCat("This client has no tensor \"", TruncateUtf8(handle, 2 * kRandomIdLength),
                   "\"; it was deleted, or its lease has run out."));
}

TensorStore::TensorStore(const TensorLimits& limits, const Clock& clock, HostBufferPool& buffers)
    : limits_(limits), clock_(clock), buffers_(buffers) {}

absl::StatusOr<CreatedTensor> TensorStore::Create(const std::string& client,
                                                  const NewTensor& tensor) {
  if (tensor.label.size() > kMaxTensorLabelBytes) {
    return Refused("label", absl::StrCat("The label has ", tensor.label.size(), " bytes; at most ",
                                         kMaxTensorLabelBytes, " are allowed."));
  }
  const uint64_t bytes = ExactSizeInBytes(tensor.desc).value_or(UINT64_MAX);
  CreatedTensor created{.handle = RandomId(), .has_content = true, .ttl = Grant(tensor.ttl)};
  if (absl::Status status = Reserve(client, bytes, tensor.device); !status.ok()) return status;
  auto content = ContentOf(client, tensor, bytes, created.has_content);
  if (!content.ok()) {
    MutexLock lock(mutex_);
    Release(client, bytes, tensor.device);
    return content.status();
  }
  auto kept = std::make_shared<ResidentTensor>(tensor.desc, bytes, *std::move(content),
                                               tensor.digest, buffers_, tensor.device);
  MutexLock lock(mutex_);
  const Clock::TimePoint end = clock_.Now() + created.ttl;
  next_end_ = std::min(next_end_, end);
  const uint64_t number = ++last_number_;
  clients_[client].handles[number] = created.handle;
  entries_[created.handle] = {std::move(kept), client, tensor.label, end, number};
  return created;
}

absl::StatusOr<std::shared_ptr<TensorContent>> TensorStore::ContentOf(absl::string_view client,
                                                                      const NewTensor& tensor,
                                                                      uint64_t bytes,
                                                                      bool& has_content) {
  std::shared_ptr<TensorContent> known;
  if (tensor.digest) known = FindContent(client, *tensor.digest);
  // Another length cannot have the same digest; the client is wrong about one of the two.
  if (known != nullptr && known->bytes() != bytes) known = nullptr;
  if (!tensor.fill) {
    has_content = known != nullptr || !tensor.digest;
    return known;
  }
  try {
    auto content = std::make_shared<TensorContent>(buffers_.Take(bytes), bytes);
    tensor.fill(content->data());
    if (!tensor.digest) return content;
    Sha256 sha256;
    sha256.Add({content->data(), bytes});
    if (sha256.Finish() != *tensor.digest) {
      return Refused("sha256", "The payload has another SHA-256 than the request says.");
    }
    if (known != nullptr) return known;
    content->digest = tensor.digest;
    Remember(client, content);
    return content;
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  }
}

absl::StatusOr<std::shared_ptr<ResidentTensor>> TensorStore::Find(absl::string_view client,
                                                                  absl::string_view handle) {
  Removed removed;
  MutexLock lock(mutex_);
  SweepLocked(clock_.Now(), removed);
  const Entry* const entry = FindEntry(client, handle);
  if (entry == nullptr) return TensorNotFound(handle);
  return entry->tensor;
}

absl::Status TensorStore::Write(absl::string_view client, absl::string_view handle, uint64_t offset,
                                uint64_t bytes, ResidentTensor::Fill fill) {
  const auto tensor = Find(client, handle);
  if (!tensor.ok()) return tensor.status();
  try {
    const std::shared_ptr<TensorContent> known = (*tensor)->Write(offset, bytes, fill);
    if (known != nullptr) Remember(client, known);
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::chrono::seconds> TensorStore::Renew(absl::string_view client,
                                                        std::span<const absl::string_view> handles,
                                                        std::chrono::seconds ttl) {
  const std::chrono::seconds granted = Grant(ttl);
  absl::Status status;
  Removed removed;
  MutexLock lock(mutex_);
  const Clock::TimePoint now = clock_.Now();
  SweepLocked(now, removed);
  for (const absl::string_view handle : handles) {
    if (Entry* const entry = FindEntry(client, handle)) {
      entry->lease_end = now + granted;
      next_end_ = std::min(next_end_, entry->lease_end);
    } else {
      status.Update(TensorNotFound(handle));
    }
  }
  if (!status.ok()) return status;
  return granted;
}

size_t TensorStore::Delete(absl::string_view client, std::span<const absl::string_view> handles) {
  Removed removed;
  MutexLock lock(mutex_);
  SweepLocked(clock_.Now(), removed);
  const size_t expired = removed.size();
  for (const absl::string_view handle : handles) {
    if (FindEntry(client, handle) != nullptr) Remove(std::string(handle), removed);
  }
  return removed.size() - expired;
}

TensorList TensorStore::List(absl::string_view client) {
  TensorList list;
  Removed removed;
  MutexLock lock(mutex_);
  const Clock::TimePoint now = clock_.Now();
  SweepLocked(now, removed);
  const auto state = clients_.find(client);
  if (state == clients_.end()) return list;
  list.bytes = state->second.bytes;
  for (const auto& [number, handle] : state->second.handles) {
    const Entry& entry = entries_.at(handle);
    const ResidentTensor& tensor = *entry.tensor;
    list.tensors.push_back({handle, tensor.desc(), tensor.bytes(), entry.label, tensor.device(),
                            entry.lease_end - now});
  }
  return list;
}

Clock::TimePoint TensorStore::Sweep() {
  Removed removed;
  MutexLock lock(mutex_);
  SweepLocked(clock_.Now(), removed);
  return next_end_;
}

uint64_t TensorStore::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

uint64_t TensorStore::BytesOn(absl::string_view device) const {
  MutexLock lock(mutex_);
  const auto found = device_bytes_.find(device);
  return found == device_bytes_.end() ? 0 : found->second;
}

absl::Status TensorStore::Reserve(const std::string& client, uint64_t bytes,
                                  absl::string_view device) {
  Removed removed;
  MutexLock lock(mutex_);
  SweepLocked(clock_.Now(), removed);
  const auto found = clients_.find(client);
  const uint64_t used = found == clients_.end() ? 0 : found->second.bytes;
  const size_t tensors = found == clients_.end() ? 0 : found->second.tensors;
  if (tensors >= limits_.max_tensors_per_client) {
    return TooManyTensors(limits_.max_tensors_per_client);
  }
  if (bytes > limits_.max_bytes_per_client - used) {
    return OverQuota("this client", used, bytes, limits_.max_bytes_per_client);
  }
  if (bytes > limits_.max_bytes - bytes_) {
    return OverQuota("all clients", bytes_, bytes, limits_.max_bytes);
  }
  bytes_ += bytes;
  device_bytes_[device] += bytes;
  ClientState& state = clients_[client];
  state.bytes += bytes;
  ++state.tensors;
  return absl::OkStatus();
}

void TensorStore::Release(absl::string_view client, uint64_t bytes, absl::string_view device) {
  bytes_ -= bytes;
  device_bytes_[device] -= bytes;
  const auto found = clients_.find(client);
  found->second.bytes -= bytes;
  if (--found->second.tensors == 0) clients_.erase(found);
}

std::shared_ptr<TensorContent> TensorStore::FindContent(absl::string_view client,
                                                        const Sha256Digest& digest) {
  MutexLock lock(mutex_);
  const auto state = clients_.find(client);
  if (state == clients_.end()) return nullptr;
  const auto found = state->second.contents.find(digest);
  return found == state->second.contents.end() ? nullptr : found->second.lock();
}

void TensorStore::Remember(absl::string_view client,
                           const std::shared_ptr<TensorContent>& content) {
  MutexLock lock(mutex_);
  const auto state = clients_.find(client);
  // The tensor may have been deleted meanwhile.
  if (state == clients_.end()) return;
  auto& contents = state->second.contents;
  // Those that are gone are forgotten before they become many.
  if (contents.size() > 2 * state->second.tensors) {
    absl::erase_if(contents, [](const auto& entry) { return entry.second.expired(); });
  }
  contents[*content->digest] = content;
}

TensorStore::Entry* TensorStore::FindEntry(absl::string_view client, absl::string_view handle) {
  const auto found = entries_.find(handle);
  return found == entries_.end() || found->second.client != client ? nullptr : &found->second;
}

void TensorStore::Remove(const std::string& handle, Removed& removed) {
  const auto found = entries_.find(handle);
  Entry& entry = found->second;
  clients_.find(entry.client)->second.handles.erase(entry.number);
  Release(entry.client, entry.tensor->bytes(), entry.tensor->device());
  removed.push_back(std::move(entry.tensor));
  entries_.erase(found);
}

void TensorStore::SweepLocked(Clock::TimePoint now, Removed& removed) {
  if (now < next_end_) return;
  std::vector<std::string> ended;
  next_end_ = Clock::kNever;
  for (const auto& [handle, entry] : entries_) {
    if (entry.lease_end <= now) {
      ended.push_back(handle);
    } else {
      next_end_ = std::min(next_end_, entry.lease_end);
    }
  }
  for (const std::string& handle : ended) Remove(handle, removed);
}

std::chrono::seconds TensorStore::Grant(std::chrono::seconds asked) const {
  return std::min(asked.count() == 0 ? limits_.default_ttl : asked, limits_.max_ttl);
}

}  // namespace opserve
