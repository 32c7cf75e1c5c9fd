// File: kernels/invocation.h
//
// A validated call of an operator: everything a device needs to run it except the bytes. Made by
// Validate() only, immutable, shared between requests that describe the same call.

#ifndef OPSERVE_KERNELS_INVOCATION_H_
#define OPSERVE_KERNELS_INVOCATION_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/op_table.h"
#include "kernels/plan.h"
#include "kernels/tensor_desc.h"

namespace opserve {

// Values of the attributes in the order of OpTraits::attributes, as bits, so that equal ones are
// those that no kernel can tell apart: a FLOAT by its encoding, an enum, integer or data type as
// UINT32. A scalar is an integer of 64 bits, or a FLOAT where it is a FLOAT16 too.
using AttributeValues = std::array<uint64_t, kMaxAttributes>;

// What replaces each element x of the input before the operator is evaluated: x * scale + bias,
// rounded once to the type of x. Bits of FLOATs.
struct ScaleBias {
  uint32_t scale = 0;
  uint32_t bias = 0;
  bool operator==(const ScaleBias&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const ScaleBias& value) {
    return H::combine(std::move(h), value.scale, value.bias);
  }
};

// What is computed of each result: an operator with is_fusable, and its attributes.
struct FusedActivation {
  OpId op = {};
  AttributeValues attributes = {};
  bool operator==(const FusedActivation&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const FusedActivation& value) {
    return H::combine(std::move(h), value.op, value.attributes);
  }
};

struct Invocation {
  OpId op = {};
  // Element type that selects the kernel: that of tensor OpTraits::lane_tensor().
  DataType lane_type = DataType::kUnknown;
  AttributeValues attributes = {};
  std::optional<ScaleBias> scale_bias = {};
  std::optional<FusedActivation> fused_activation = {};
  // Inputs in operator order; data_type is kUnknown where an optional input is absent. What has one
  // element that goes with all others has the sizes of the output and strides of 0.
  std::array<TensorDesc, kMaxInputs> inputs = {};
  // Which payload of the request holds input i. -1 where the input is absent.
  std::array<int, kMaxInputs> payload_index = {};
  TensorDesc output;
  // Exact bytes that the buffers of the inputs and of the output must have; no kernel touches more.
  std::array<uint64_t, kMaxInputs> input_bytes = {};
  uint64_t output_bytes = 0;
  Plan plan;

  // The mode of the kernel (OpTraits::has_mode); 0 where it has none.
  int mode() const { return TraitsOf(op).has_mode() ? static_cast<int>(attributes[0]) : 0; }
  // Whether a NaN of the result is one of an input, to the bit. Otherwise it is any quiet one.
  bool keeps_nan_bits() const {
    const OpTraits& traits = TraitsOf(op);
    return (traits.shape.is_bitwise || traits.keeps_nan_bits) && !scale_bias;
  }
};

// Whether the result may take the place of the bytes of input `input`: the operator allows it, and
// element i of the one lies where element i of the other does.
inline bool CanRunInPlace(const Invocation& call, int input) {
  const OpTraits& traits = TraitsOf(call.op);
  return call.plan.is_packed() && call.payload_index[input] >= 0 &&
         call.input_bytes[input] == call.output_bytes &&
         std::find(traits.in_place.begin(), traits.in_place.end(), traits.inputs[input].name) !=
             traits.in_place.end();
}

}  // namespace opserve

#endif  // OPSERVE_KERNELS_INVOCATION_H_
