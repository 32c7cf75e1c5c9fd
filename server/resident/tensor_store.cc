#include "server/resident/tensor_store.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/base/random_id.h"
#include "server/errors/errors.h"
#include "server/errors/host_ids.h"
#include "server/resident/tensor_quota.h"

namespace opserve {
namespace {

absl::Status Refused(const std::string& field, const std::string& why) {
  const Violation violation{field, why};
  return MakeViolationError(violation);
}

absl::string_view IdentityIn(const TensorHolder& holder, const std::string& client) {
  return holder.identity.empty() ? absl::string_view(client) : holder.identity;
}

}  // namespace

absl::Status TensorNotFound(absl::string_view handle, absl::string_view host) {
  return NotFoundHere(handle, host,
                      MakeError(ErrorReason::TENSOR_NOT_FOUND,
                                absl::StrCat("This client has no tensor \"",
                                             TruncateUtf8(handle, 2 * kRandomIdLength),
                                             "\"; it was deleted, or its lease has run out.")));
}

TensorStore::TensorStore(const TensorLimits& limits, const Clock& clock, HostBufferPool& buffers)
    : limits_(limits),
      clock_(clock),
      buffers_(buffers),
      ledger_({.per_holder = limits.max_bytes_per_client, .of_all = limits.max_bytes}) {}

absl::StatusOr<CreatedTensor> TensorStore::Create(const std::string& client,
                                                  const NewTensor& tensor,
                                                  const TensorHolder& holder) {
  if (tensor.label.size() > kMaxTensorLabelBytes) {
    return Refused("label", absl::StrCat("The label has ", tensor.label.size(), " bytes; at most ",
                                         kMaxTensorLabelBytes, " are allowed."));
  }
  const uint64_t bytes = ExactSizeInBytes(tensor.desc).value_or(UINT64_MAX);
  CreatedTensor created{
      .handle = NewHostId(limits_.host), .has_content = true, .ttl = Grant(tensor.ttl)};
  auto charge = Reserve(client, bytes, tensor.device, holder);
  if (!charge.ok()) return charge.status();
  auto content = ContentOf(client, tensor, bytes, created.has_content);
  if (!content.ok()) {
    Forget(client, bytes, tensor.device);
    return content.status();
  }
  auto entry = std::make_unique<Entry>();
  entry->handle = created.handle;
  entry->tensor = std::make_shared<ResidentTensor>(tensor.desc, bytes, *std::move(content),
                                                   tensor.digest, buffers_, *std::move(charge),
                                                   TensorHome{tensor.device, tensor.is_volatile});
  entry->label = tensor.label;
  MutexLock lock(mutex_);
  entry->client = clients_.find(client)->second.get();
  entry->lease_end = clock_.Now() + created.ttl;
  entry->number = ++last_number_;
  entry->client->entries[entry->number] = entry.get();
  ends_[{entry->lease_end, entry->number}] = entry.get();
  const absl::string_view handle = entry->handle;
  entries_[handle] = std::move(entry);
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
  Sweep();
  MutexLock lock(mutex_);
  const Entry* const entry = FindEntry(client, handle);
  if (entry == nullptr) return TensorNotFound(handle, limits_.host);
  return entry->tensor;
}

absl::Status TensorStore::Write(absl::string_view client, absl::string_view handle, uint64_t offset,
                                uint64_t bytes, ResidentTensor::Fill fill) {
  const auto tensor = Find(client, handle);
  if (!tensor.ok()) return tensor.status();
  try {
    const auto known = (*tensor)->Write(offset, bytes, fill);
    if (!known.ok()) return known.status();
    if (*known != nullptr) Remember(client, *known);
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  }
  return absl::OkStatus();
}

std::vector<std::shared_ptr<TensorContent>> TensorStore::Unread(absl::string_view client) {
  std::vector<std::shared_ptr<TensorContent>> unread;
  uint64_t next = 0;
  // Tensors have locks of their own.
  for (auto some = SomeOf(client, next); !some.empty(); some = SomeOf(client, next)) {
    for (const std::shared_ptr<ResidentTensor>& tensor : some) {
      auto content = tensor->unread();
      if (content != nullptr && !content->is_volatile()) unread.push_back(std::move(content));
    }
  }
  return unread;
}

bool TensorStore::HasPlaced(absl::string_view client) const {
  MutexLock lock(mutex_);
  const auto state = clients_.find(client);
  return state != clients_.end() && state->second->placed > 0;
}

std::vector<std::shared_ptr<ResidentTensor>> TensorStore::SomeOf(absl::string_view client,
                                                                 uint64_t& next) {
  std::vector<std::shared_ptr<ResidentTensor>> some;
  some.reserve(kMaxTensorsPerLock);
  MutexLock lock(mutex_);
  const auto state = clients_.find(client);
  if (state == clients_.end()) return some;
  const auto& entries = state->second->entries;
  for (auto it = entries.lower_bound(next); it != entries.end(); ++it) {
    if (some.size() == kMaxTensorsPerLock) break;
    ++visited_;
    next = it->first + 1;
    some.push_back(it->second->tensor);
  }
  return some;
}

absl::StatusOr<std::chrono::seconds> TensorStore::Renew(absl::string_view client,
                                                        std::span<const absl::string_view> handles,
                                                        std::chrono::seconds ttl) {
  const std::chrono::seconds granted = Grant(ttl);
  absl::Status status;
  Sweep();
  while (!handles.empty()) {
    const auto some = handles.first(std::min(handles.size(), kMaxTensorsPerLock));
    handles = handles.subspan(some.size());
    MutexLock lock(mutex_);
    const Clock::TimePoint end = clock_.Now() + granted;
    for (const absl::string_view handle : some) {
      Entry* const entry = FindEntry(client, handle);
      if (entry == nullptr) {
        status.Update(TensorNotFound(handle, limits_.host));
        continue;
      }
      auto node = ends_.extract({entry->lease_end, entry->number});
      entry->lease_end = end;
      node.key() = {end, entry->number};
      ends_.insert(std::move(node));
    }
  }
  if (!status.ok()) return status;
  return granted;
}

size_t TensorStore::Delete(absl::string_view client, std::span<const absl::string_view> handles) {
  size_t deleted = 0;
  Sweep();
  while (!handles.empty()) {
    const auto some = handles.first(std::min(handles.size(), kMaxTensorsPerLock));
    handles = handles.subspan(some.size());
    Removed removed;
    MutexLock lock(mutex_);
    for (const absl::string_view handle : some) {
      if (Entry* const entry = FindEntry(client, handle)) Remove(*entry, removed);
    }
    deleted += removed.entries.size();
  }
  return deleted;
}

TensorList TensorStore::List(absl::string_view client) {
  TensorList list;
  Sweep();
  // Room for more is made without the lock.
  uint64_t next = 0;
  for (bool is_done = false; !is_done;) {
    const size_t needed = list.tensors.size() + kMaxTensorsPerLock;
    if (list.tensors.capacity() < needed) list.tensors.reserve(2 * needed);
    MutexLock lock(mutex_);
    const Clock::TimePoint now = clock_.Now();
    const auto state = clients_.find(client);
    if (state == clients_.end()) break;
    const auto& entries = state->second->entries;
    auto it = entries.lower_bound(next);
    for (size_t i = 0; i < kMaxTensorsPerLock && it != entries.end(); ++i, ++it) {
      const Entry& entry = *it->second;
      const ResidentTensor& tensor = *entry.tensor;
      ++visited_;
      next = it->first + 1;
      list.tensors.push_back({entry.handle, tensor.desc(), tensor.bytes(), entry.label,
                              tensor.device(), tensor.is_volatile(),
                              std::max(entry.lease_end - now, Clock::Duration{})});
    }
    is_done = it == entries.end();
  }
  list.bytes = ledger_.UsedBy(client);
  return list;
}

Clock::TimePoint TensorStore::Sweep() {
  while (true) {
    const Clock::TimePoint now = clock_.Now();
    const Clock::TimePoint next = SweepSome(now);
    if (next > now) return next;
  }
}

Clock::TimePoint TensorStore::SweepSome(Clock::TimePoint now) {
  Removed removed;
  MutexLock lock(mutex_);
  while (!ends_.empty() && ends_.begin()->first.first <= now &&
         removed.entries.size() < kMaxTensorsPerLock) {
    ++visited_;
    Remove(*ends_.begin()->second, removed);
  }
  return ends_.empty() ? Clock::kNever : ends_.begin()->first.first;
}

uint64_t TensorStore::BytesOn(absl::string_view device) const {
  MutexLock lock(mutex_);
  const auto found = device_bytes_.find(device);
  return found == device_bytes_.end() ? 0 : found->second;
}

size_t TensorStore::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

uint64_t TensorStore::visited() const {
  MutexLock lock(mutex_);
  return visited_;
}

absl::StatusOr<QuotaCharge> TensorStore::Reserve(const std::string& client, uint64_t bytes,
                                                 absl::string_view device,
                                                 const TensorHolder& holder) {
  Sweep();
  if (absl::Status status = Count(client, bytes, device, holder); !status.ok()) return status;
  QuotaTaking taking =
      ledger_.Take(client, TensorCharge(bytes), {IdentityIn(holder, client), holder.max_bytes});
  if (!taking.shortage) return std::move(taking.charge);
  Forget(client, bytes, device);
  return OverTensorQuota(*taking.shortage);
}

absl::Status TensorStore::Count(const std::string& client, uint64_t bytes, absl::string_view device,
                                const TensorHolder& holder) {
  MutexLock lock(mutex_);
  const auto found = clients_.find(client);
  const auto identity = identities_.find(IdentityIn(holder, client));
  const size_t of_client = found == clients_.end() ? 0 : found->second->tensors;
  const size_t of_identity = identity == identities_.end() ? 0 : identity->second;
  const size_t own_limit = holder.max_tensors.value_or(limits_.max_tensors_per_client);
  if ((holder.max_tensors ? of_identity : of_client) >= own_limit) {
    return TooManyTensors(false, own_limit);
  }
  if (tensors_ >= limits_.max_tensors) return TooManyTensors(true, limits_.max_tensors);
  ClientState* state = nullptr;
  if (found != clients_.end()) {
    state = found->second.get();
  } else {
    auto fresh = std::make_unique<ClientState>();
    fresh->name = client;
    fresh->of_identity =
        &*identities_.try_emplace(std::string(IdentityIn(holder, client)), size_t{0}).first;
    state = fresh.get();
    clients_[state->name] = std::move(fresh);
  }
  ++state->tensors;
  if (!device.empty()) ++state->placed;
  ++state->of_identity->second;
  ++tensors_;
  device_bytes_[device] += bytes;
  return absl::OkStatus();
}

void TensorStore::Discount(ClientState& client, uint64_t bytes, absl::string_view device,
                           Removed& removed) {
  --tensors_;
  device_bytes_[device] -= bytes;
  if (--client.of_identity->second == 0)
    identities_.erase(identities_.find(client.of_identity->first));
  if (!device.empty()) --client.placed;
  if (--client.tensors > 0) return;
  const auto found = clients_.find(client.name);
  removed.clients.push_back(std::move(found->second));
  clients_.erase(found);
}

void TensorStore::Forget(const std::string& client, uint64_t bytes, absl::string_view device) {
  Removed removed;
  MutexLock lock(mutex_);
  Discount(*clients_.find(client)->second, bytes, device, removed);
}

std::shared_ptr<TensorContent> TensorStore::FindContent(absl::string_view client,
                                                        const Sha256Digest& digest) {
  MutexLock lock(mutex_);
  const auto state = clients_.find(client);
  if (state == clients_.end()) return nullptr;
  const auto found = state->second->contents.find(digest);
  return found == state->second->contents.end() ? nullptr : found->second.lock();
}

void TensorStore::Remember(absl::string_view client,
                           const std::shared_ptr<TensorContent>& content) {
  MutexLock lock(mutex_);
  const auto state = clients_.find(client);
  // The tensor may have been deleted meanwhile.
  if (state == clients_.end()) return;
  auto& contents = state->second->contents;
  // Those that are gone are forgotten before they become many.
  if (contents.size() > 2 * state->second->tensors) {
    visited_ += contents.size();
    absl::erase_if(contents, [](const auto& entry) { return entry.second.expired(); });
  }
  contents[*content->digest] = content;
}

TensorStore::Entry* TensorStore::FindEntry(absl::string_view client, absl::string_view handle) {
  ++visited_;
  const auto found = entries_.find(handle);
  return found == entries_.end() || found->second->client->name != client ? nullptr
                                                                          : found->second.get();
}

void TensorStore::Remove(Entry& entry, Removed& removed) {
  ends_.erase({entry.lease_end, entry.number});
  entry.client->entries.erase(entry.number);
  Discount(*entry.client, entry.tensor->bytes(), entry.tensor->device(), removed);
  const auto found = entries_.find(entry.handle);
  removed.entries.push_back(std::move(found->second));
  entries_.erase(found);
}

std::chrono::seconds TensorStore::Grant(std::chrono::seconds asked) const {
  return std::min(asked.count() == 0 ? limits_.default_ttl : asked, limits_.max_ttl);
}

}  // namespace opserve
