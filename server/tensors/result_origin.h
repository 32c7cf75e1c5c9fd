// File: server/tensors/result_origin.h
//
// Where a result comes from that a GPU keeps and the host has not read: the call that made it.

#ifndef OPSERVE_SERVER_TENSORS_RESULT_ORIGIN_H_
#define OPSERVE_SERVER_TENSORS_RESULT_ORIGIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/invocation.h"
#include "proto/base/host_buffers.h"
#include "server/pool/device_pool.h"
#include "server/resident/tensor_content.h"

namespace opserve {

// Most runs of operators that one result may take to be computed again; what would take more is
// read back at once.
inline constexpr int kMostOriginSteps = 16;

// Results of fewer bytes are read back at once: what a chain of calls takes for its records is less
// than the memory of the host that a larger result does without.
inline constexpr uint64_t kLeastUnreadBytes = 16 << 10;

// A call whose inputs are all contents of resident tensors.
struct ResultSource {
  std::shared_ptr<const Invocation> invocation;
  // Shares of an origin, one per payload of the call.
  std::vector<std::shared_ptr<TensorContent>> inputs;

  // Runs of operators that its result takes where the host has no unread input; nullopt: one
  // cannot be computed.
  std::optional<int> steps() const;
};

// The result of a call that `device` ran, by its name, which lives as long as the pool.
// Thread-safe.
class ResultOrigin final : public ContentOrigin {
 public:
  // Of a source that has steps. `lease`: that it ran under; while another one has the device, that
  // is not asked. The references must outlive the origin.
  ResultOrigin(DevicePool& pool, HostBufferPool& buffers, absl::string_view device, uint64_t lease,
               ResultSource source);

  bool Read(ContentId content, std::span<std::byte> to) const override;
  void Compute(std::byte* to) const override;
  std::optional<int> steps() const override { return steps_; }

 private:
  DevicePool& pool_;
  HostBufferPool& buffers_;
  const absl::string_view device_;
  const uint64_t lease_;
  const ResultSource source_;
  const int steps_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_RESULT_ORIGIN_H_
