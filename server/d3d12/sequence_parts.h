// File: server/d3d12/sequence_parts.h
//
// Large sequences in parts, as large batches have them: server/d3d12/batch_parts.h. Pure.

#ifndef OPSERVE_SERVER_D3D12_SEQUENCE_PARTS_H_
#define OPSERVE_SERVER_D3D12_SEQUENCE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "kernels/sequence.h"
#include "kernels/sequence_part.h"
#include "server/d3d12/tensor_stretches.h"
#include "server/device/compute_device.h"

namespace opserve::d3d12 {

// Inputs of which every part has all that it reads have no more than this together, or the sequence
// is one part: each part uploads them anew.
inline constexpr uint64_t kMostRepeatedBytes = uint64_t{1} << 20;

// The parts of one sequence: itself, or stretches of its elements, in their order, where each
// result depends on the elements of its own place alone (WhyNotInOrder). All but the last one move
// about as many bytes as parts of batches do. A sequence of which the device may have or keep
// copies is one part.
class SequenceParts {
 public:
  // What the sequence of `of` points to must outlive the parts.
  explicit SequenceParts(const DeviceCall& of);
  SequenceParts(const SequenceParts&) = delete;
  SequenceParts& operator=(const SequenceParts&) = delete;

  size_t size() const { return parts_.size(); }
  const DeviceCall& operator[](size_t part) const { return parts_[part]; }

 private:
  void Divide(const DeviceCall& of, uint64_t elements);
  // The sequence on the elements from number `begin` on, as many as `part` has.
  SequenceCall StretchOf(const SequenceCall& whole, const SequenceInvocation& part, uint64_t begin);

  std::vector<DeviceCall> parts_;
  // What the parts point to.
  std::vector<RepeatedInput> repeated_;
  std::deque<SequenceInvocation> invocations_;
  std::deque<SequenceCall> calls_;
  TensorStretches stretches_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_SEQUENCE_PARTS_H_
