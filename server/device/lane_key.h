// File: server/device/lane_key.h
//
// What calls must have in common to share a submission to a device.

#ifndef OPSERVE_SERVER_DEVICE_LANE_KEY_H_
#define OPSERVE_SERVER_DEVICE_LANE_KEY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/invocation.h"

namespace opserve {

// Calls of one lane run the same kernel with the same constants. Those whose tensors are all packed
// also share a dispatch.
struct LaneKey {
  OpId op = {};
  DataType lane_type = DataType::kUnknown;
  DataType output_type = DataType::kUnknown;
  bool is_packed = false;
  AttributeValues attributes = {};
  std::optional<ScaleBias> scale_bias = {};
  std::optional<FusedActivation> fused_activation = {};
  // The types of the inputs that hold numbers of types of their own; kUnknown for others.
  std::array<DataType, kMaxInputs> number_types = {};
  // A sequence: a number that no other one has, so that each runs by itself. 0: one operator.
  uint64_t sequence = 0;

  bool operator==(const LaneKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const LaneKey& key) {
    return H::combine(std::move(h), key.op, key.lane_type, key.output_type, key.is_packed,
                      key.attributes, key.scale_bias.value_or(ScaleBias()),
                      key.fused_activation.value_or(FusedActivation()), key.number_types,
                      key.sequence);
  }
};

// The lane of a validated call.
inline LaneKey LaneKeyOf(const Invocation& invocation) {
  LaneKey lane = {invocation.op,
                  invocation.lane_type,
                  invocation.output.data_type,
                  invocation.plan.is_packed(),
                  invocation.attributes,
                  invocation.scale_bias,
                  invocation.fused_activation};
  const OpTraits& op = TraitsOf(invocation.op);
  for (int i = 0; i < op.input_count(); ++i) {
    if (op.shape.is_number(i)) lane.number_types[i] = invocation.inputs[i].data_type;
  }
  return lane;
}

// A lane for one sequence. Thread-safe.
inline LaneKey NewSequenceLane() {
  static std::atomic<uint64_t> last = 0;
  LaneKey lane;
  lane.sequence = ++last;
  return lane;
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_DEVICE_LANE_KEY_H_
