// File: server/resident/tensor_quota.h
//
// What a resident tensor counts against quotas, and the errors of who has too much. Stateless and
// safe to use from any thread.

#ifndef OPSERVE_SERVER_RESIDENT_TENSOR_QUOTA_H_
#define OPSERVE_SERVER_RESIDENT_TENSOR_QUOTA_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "proto/base/host_buffers.h"
#include "server/base/quota_ledger.h"

namespace opserve {

// What a tensor takes beside its content, at most: its records with the longest label, and those of
// its client with the longest name, which may have no other tensor. memory_cost_test compares it
// with what the allocator says.
inline constexpr uint64_t kTensorOverheadBytes = 3072;

// The bytes that a tensor with `bytes` bytes counts: of the buffer that holds it, and of its
// records. As many count for what it held before, while that is still read. UINT64_MAX where no
// buffer could be that large.
constexpr uint64_t TensorCharge(uint64_t bytes) {
  if (bytes > uint64_t{1} << 62) return UINT64_MAX;
  return HostBufferSizeOf(bytes) + kTensorOverheadBytes;
}

// TENSOR_QUOTA: a tensor, or the copy that a write needs while the content is still read, would
// exceed the quota.
absl::Status OverTensorQuota(const QuotaShortage& shortage);

// TENSOR_QUOTA: there are `limit` tensors; of the client, or of all.
absl::Status TooManyTensors(bool is_of_all, size_t limit);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RESIDENT_TENSOR_QUOTA_H_
