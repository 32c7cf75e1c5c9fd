// File: server/tensors/volatile_result.h
//
// Where a result comes from that a GPU keeps for a volatile tensor, and that nothing else has.

#ifndef OPSERVE_SERVER_TENSORS_VOLATILE_RESULT_H_
#define OPSERVE_SERVER_TENSORS_VOLATILE_RESULT_H_

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "kernels/tensor_bytes.h"
#include "server/pool/device_pool.h"
#include "server/resident/tensor_content.h"

namespace opserve {

// Devices keep the result while this object lives, and where it has been read perhaps for longer.
// Thread-safe but for set_device.
class VolatileResult final : public ContentOrigin {
 public:
  // `pool` must outlive it.
  VolatileResult(DevicePool& pool, ContentId content) : pool_(pool), content_(content) {}
  ~VolatileResult() override { pool_.Release(content_, is_read_); }
  VolatileResult(const VolatileResult&) = delete;
  VolatileResult& operator=(const VolatileResult&) = delete;

  // The device that has it, by its name, which lives as long as the pool. Before anybody reads.
  void set_device(absl::string_view device) { device_ = device; }

  // Asks the device also while somebody has it leased. Throws std::bad_alloc where that has no
  // memory for it now, and ContentLost.
  bool Read(ContentId content, std::span<std::byte> to) const override;
  // Throws ContentLost.
  void Compute(std::byte* to) const override;
  std::optional<int> steps() const override { return std::nullopt; }

 private:
  DevicePool& pool_;
  const ContentId content_;
  absl::string_view device_;
  // Whether the host has it.
  mutable std::atomic<bool> is_read_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_VOLATILE_RESULT_H_
