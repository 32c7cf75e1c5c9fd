// File: server/d3d12/batch_parts.h
//
// Large batches in parts, so that the bytes of one travel while the device computes another. Pure.

#ifndef OPSERVE_SERVER_D3D12_BATCH_PARTS_H_
#define OPSERVE_SERVER_D3D12_BATCH_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "kernels/invocation.h"
#include "server/d3d12/tensor_stretches.h"
#include "server/device/compute_device.h"

namespace opserve::d3d12 {

// A part that is not the last one moves so many bytes in its larger direction, or more, up to twice
// as many: enough for what each submission costs to be little of it. Only a call that cannot be
// divided moves more.
inline constexpr uint64_t kPartBytes = uint64_t{8} << 20;

// How many of `count` elements, which move `bytes` bytes in their larger direction, go in one part.
uint64_t StretchLength(uint64_t count, uint64_t bytes);

// Whether nothing is said of copies that a device may have of a tensor.
inline bool KnowsNoContent(const TensorBytes& tensor) {
  return tensor.content() == kNoContent && !tensor.is_unread();
}

// The parts of one batch, in its order: calls, or stretches of the elements of a flat call. A batch
// of which the device may have or keep copies is one part.
class BatchParts {
 public:
  // `calls`: at least one, all of one lane, and no sequence. What they point to must outlive the
  // parts.
  explicit BatchParts(std::span<const DeviceCall> calls);
  BatchParts(const BatchParts&) = delete;
  BatchParts& operator=(const BatchParts&) = delete;

  size_t size() const { return parts_.size(); }
  // Nothing is said of copies in any of its calls; so whatever is read and written belongs to it.
  bool knows_no_contents() const { return knows_no_contents_; }
  std::span<const DeviceCall> operator[](size_t part) const { return parts_[part]; }

 private:
  void Divide(const DeviceCall& call, uint64_t bytes);

  bool knows_no_contents_;
  std::vector<std::vector<DeviceCall>> parts_;
  // What the calls of parts point to.
  std::deque<Invocation> invocations_;
  TensorStretches stretches_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_BATCH_PARTS_H_
