// File: server/resident/tensor_store.h
//
// All resident tensors of the server: whose they are, how long they stay, and how many there may
// be.

#ifndef OPSERVE_SERVER_RESIDENT_TENSOR_STORE_H_
#define OPSERVE_SERVER_RESIDENT_TENSOR_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/tensor_desc.h"
#include "proto/base/host_buffers.h"
#include "proto/base/mutex.h"
#include "proto/base/sha256.h"
#include "server/base/clock.h"
#include "server/base/quota_ledger.h"
#include "server/resident/resident_tensor.h"

namespace opserve {

// Longest label of a tensor in bytes.
inline constexpr size_t kMaxTensorLabelBytes = 128;

struct TensorLimits {
  // Most bytes of tensors, of one client and of all together. A tensor counts with TensorCharge of
  // the bytes that its descriptor needs, also where it shares its content with another one; so does
  // what it held before, while that is still read.
  uint64_t max_bytes_per_client = uint64_t{1} << 30;
  uint64_t max_bytes = uint64_t{2} << 30;
  // Most tensors of one client, and of all together.
  size_t max_tensors_per_client = 1024;
  size_t max_tensors = 65536;
  // The lease of who asks for none, and the longest.
  std::chrono::seconds default_ttl{300};
  std::chrono::seconds max_ttl{3600};
  // Address of this host, which handles carry; see server/errors/host_ids.h. Empty: they carry
  // none.
  std::string host = {};
};

// A tensor to be kept.
struct NewTensor {
  TensorDesc desc;
  std::string label = {};
  // That it is placed on; empty: none. The name must outlive the store.
  absl::string_view device = {};
  // Whether results may stay on that device alone, which may lose them.
  bool is_volatile = false;
  // 0: the default.
  std::chrono::seconds ttl{0};
  // The digest of the content.
  std::optional<Sha256Digest> digest = {};
  // Writes the content, as many bytes as `desc` needs. Empty: that of `digest` if the client has it
  // here already, or zeros.
  std::function<void(std::byte*)> fill = {};
};

// The identity that a client is a part of, and what it may have in all of its parts together.
struct TensorHolder {
  // What all its clients have in common; empty: the client is all of it. A client is always of the
  // same identity.
  absl::string_view identity = {};
  // In place of what TensorLimits allows each client; nullopt: that holds.
  std::optional<uint64_t> max_bytes = std::nullopt;
  std::optional<size_t> max_tensors = std::nullopt;
};

// What became of it.
struct CreatedTensor {
  std::string handle;
  // False where `digest` is of a content that is not known here.
  bool has_content = false;
  // Granted.
  std::chrono::seconds ttl{0};
};

// A tensor of a client.
struct ListedTensor {
  std::string handle;
  TensorDesc desc;
  uint64_t bytes = 0;
  std::string label;
  // That it is placed on; empty: none.
  absl::string_view device;
  bool is_volatile = false;
  // Until its lease ends.
  Clock::Duration left{};
};

// Most tensors that a call looks at before others get their turn.
inline constexpr size_t kMaxTensorsPerLock = 256;

// All tensors of a client.
struct TensorList {
  std::vector<ListedTensor> tensors;  // oldest first
  // What counts against the client's quota.
  uint64_t bytes = 0;
};

// Tensors by handle. Handles are random; one of another client is answered like one that never was:
// TENSOR_NOT_FOUND. A tensor whose lease has ended is gone with the next call of any function. A
// tensor that is gone lives on, and counts, for requests that have a share of it. Thread-safe.
//
// No call holds the lock for more than kMaxTensorsPerLock tensors at a time, nor looks at any that
// are neither its client's nor at their end. So a list of many tensors is no picture of one moment.
class TensorStore {
 public:
  // `clock` and `buffers` must outlive the store and all tensors.
  TensorStore(const TensorLimits& limits, const Clock& clock, HostBufferPool& buffers);
  TensorStore(const TensorStore&) = delete;
  TensorStore& operator=(const TensorStore&) = delete;

  // Keeps a tensor, whose descriptor has passed validation. Nothing is allocated before the quota
  // has been checked. INVALID_REQUEST for a label that is too long, or a content that has not the
  // digest that was given; TENSOR_QUOTA; OUT_OF_MEMORY.
  absl::StatusOr<CreatedTensor> Create(const std::string& client, const NewTensor& tensor,
                                       const TensorHolder& holder = {});

  // A share of a tensor of `client`.
  absl::StatusOr<std::shared_ptr<ResidentTensor>> Find(absl::string_view client,
                                                       absl::string_view handle);

  // Replaces bytes, which are in the tensor, as ResidentTensor::Write does. TENSOR_QUOTA where what
  // was there is still read and the client may not have both; OUT_OF_MEMORY.
  absl::Status Write(absl::string_view client, absl::string_view handle, uint64_t offset,
                     uint64_t bytes, ResidentTensor::Fill fill);

  // What is unread of the tensors of `client` and has other contents kept for it. Once that is
  // fetched, nothing counts against quotas because it might be needed.
  std::vector<std::shared_ptr<TensorContent>> Unread(absl::string_view client);

  // Whether any tensor of `client` is placed on a device: nothing is unread where none is.
  bool HasPlaced(absl::string_view client) const;

  // Extends leases to `ttl` from now on (0: the default), or as much of it as is granted. Where
  // there is no tensor of some handle, the error names the first of these; the others are renewed.
  absl::StatusOr<std::chrono::seconds> Renew(absl::string_view client,
                                             std::span<const absl::string_view> handles,
                                             std::chrono::seconds ttl);

  // Gives tensors up. Returns how many of the handles there were.
  size_t Delete(absl::string_view client, std::span<const absl::string_view> handles);

  TensorList List(absl::string_view client);

  // Removes tensors whose lease has ended. Returns when the next one may end; kNever: none will.
  Clock::TimePoint Sweep();

  const TensorLimits& limits() const { return limits_; }

  // Bytes that count against the quota of all, and bytes of tensors that are placed on a device.
  uint64_t bytes() const { return ledger_.used(); }
  uint64_t BytesOn(absl::string_view device) const;

  // Bytes that count for an identity, whatever names its clients have.
  uint64_t BytesOf(absl::string_view identity) const { return ledger_.UsedByGroup(identity); }

  // Tensors that there are, and the identities whose tensors take most.
  size_t size() const;
  QuotaHoldings LargestIdentities(size_t count) const { return ledger_.LargestGroups(count); }

  // Tensors that calls have looked at so far: the work that was done under the lock.
  uint64_t visited() const;

 private:
  struct ClientState;
  struct Entry {
    std::string handle;
    std::shared_ptr<ResidentTensor> tensor;
    ClientState* client = nullptr;
    std::string label;
    Clock::TimePoint lease_end;
    uint64_t number = 0;  // counts up
  };
  struct ClientState {
    std::string name;
    // Those that are being created included, and those of them that are placed on a device.
    size_t tensors = 0;
    size_t placed = 0;
    // How many tensors the identity has, by its name; lives as long as the state.
    std::pair<const std::string, size_t>* of_identity = nullptr;
    std::map<uint64_t, Entry*> entries;  // by number
    absl::flat_hash_map<Sha256Digest, std::weak_ptr<TensorContent>> contents;
  };
  // By the end of the lease, and by number where several end at a time.
  using Ends = std::map<std::pair<Clock::TimePoint, uint64_t>, Entry*>;
  // What is to be freed after the lock.
  struct Removed {
    std::vector<std::unique_ptr<Entry>> entries;
    std::vector<std::unique_ptr<ClientState>> clients;
  };

  // A charge for a tensor of that many bytes, which counts for `client` from here on.
  absl::StatusOr<QuotaCharge> Reserve(const std::string& client, uint64_t bytes,
                                      absl::string_view device, const TensorHolder& holder);
  // One more tensor of a client.
  absl::Status Count(const std::string& client, uint64_t bytes, absl::string_view device,
                     const TensorHolder& holder);
  // One less.
  void Discount(ClientState& client, uint64_t bytes, absl::string_view device, Removed& removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for one that was counted but did not come to be.
  void Forget(const std::string& client, uint64_t bytes, absl::string_view device);
  // The content of a tensor that has room; nullptr: zeros. Sets `has_content`.
  absl::StatusOr<std::shared_ptr<TensorContent>> ContentOf(absl::string_view client,
                                                           const NewTensor& tensor, uint64_t bytes,
                                                           bool& has_content);
  std::shared_ptr<TensorContent> FindContent(absl::string_view client, const Sha256Digest& digest);
  void Remember(absl::string_view client, const std::shared_ptr<TensorContent>& content);

  // Removes some tensors whose lease has ended. Returns when there is more to do, as Sweep does.
  Clock::TimePoint SweepSome(Clock::TimePoint now);
  // Some of the tensors of `client`, from number `next` on, which becomes that of the one after
  // them; empty: there are no more.
  std::vector<std::shared_ptr<ResidentTensor>> SomeOf(absl::string_view client, uint64_t& next);
  Entry* FindEntry(absl::string_view client, absl::string_view handle)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Entry& entry, Removed& removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::chrono::seconds Grant(std::chrono::seconds asked) const;

  const TensorLimits limits_;
  const Clock& clock_;
  HostBufferPool& buffers_;

  QuotaLedger ledger_;

  mutable Mutex mutex_;
  // By handle, which is in the entry.
  absl::flat_hash_map<absl::string_view, std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
  Ends ends_ ABSL_GUARDED_BY(mutex_);
  // By name, which is in the state.
  absl::flat_hash_map<absl::string_view, std::unique_ptr<ClientState>> clients_
      ABSL_GUARDED_BY(mutex_);
  // Tensors of each identity, those that are being created included.
  absl::node_hash_map<std::string, size_t> identities_ ABSL_GUARDED_BY(mutex_);
  // Those that are being created included.
  size_t tensors_ ABSL_GUARDED_BY(mutex_) = 0;
  // The bytes of tensors by the device that they are placed on.
  absl::flat_hash_map<absl::string_view, uint64_t> device_bytes_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t visited_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The error of a handle that the client has no tensor of: TENSOR_NOT_FOUND, or WRONG_HOST where it
// is of another host than `host`.
absl::Status TensorNotFound(absl::string_view handle, absl::string_view host);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RESIDENT_TENSOR_STORE_H_
