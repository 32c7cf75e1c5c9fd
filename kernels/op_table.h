// File: kernels/op_table.h
//
// The operator table: traits of every operator, expanded from kernels/operators.def. Validation,
// planning, the catalogue, the documentation and the tests read these traits; none of them knows an
// operator by name. The table is a constant; everything here is safe to use from any thread.

#ifndef OPSERVE_KERNELS_OP_TABLE_H_
#define OPSERVE_KERNELS_OP_TABLE_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kernels/data_type.h"
#include "kernels/feature_level.h"
#include "kernels/fixed_list.h"
#include "kernels/op_shape.h"

namespace opserve {

// Most inputs and attributes that an operator of the table has.
inline constexpr int kMaxInputs = 8;
inline constexpr int kMaxAttributes = 4;
// Inputs and the output.
inline constexpr int kMaxTensors = kMaxInputs + 1;

// What kind of operators one is of: the file of its row. In the order of OpTable().
enum class OpFamily : uint8_t {
  kMoves,
  kLogic,
  kSelection,
  kRounding,
  kArithmetic,
  kElementary,
  kActivation,
  kQuantization,
  kSoftmax
};
inline constexpr int kOpFamilyCount = 9;

// The family in words: "moves, signs and bits".
constexpr absl::string_view NameOf(OpFamily family) {
  constexpr std::array<absl::string_view, kOpFamilyCount> kNames = {"moves, signs and bits",
                                                                    "logic, comparisons and tests",
                                                                    "selection",
                                                                    "rounding and remainders",
                                                                    "arithmetic",
                                                                    "elementary functions",
                                                                    "activations",
                                                                    "quantisation",
                                                                    "softmax and its kin"};
  return kNames[static_cast<size_t>(family)];
}

// What requests call an activation that is computed of the result, and its attributes.
inline constexpr absl::string_view kFusedActivation = "FusedActivation";
inline constexpr std::array<absl::string_view, 6> kFusedAttributes = {
    "FusedActivation.Alpha", "FusedActivation.Beta",      "FusedActivation.Bias",
    "FusedActivation.Gamma", "FusedActivation.Steepness", "FusedActivation.Threshold"};

// The one of them that is attribute `name` of an activation; empty if there is none.
constexpr absl::string_view FusedNameOf(absl::string_view name) {
  for (absl::string_view fused : kFusedAttributes) {
    if (fused.substr(kFusedActivation.size() + 1) == name) return fused;
  }
  return {};
}

// What requests call the members of a ScaleBias.
inline constexpr absl::string_view kScaleAttribute = "ScaleBias.Scale";
inline constexpr absl::string_view kBiasAttribute = "ScaleBias.Bias";

// Number of an operator: its row in OpTable().
enum class OpId : uint16_t {
#define OPSERVE_OPERATOR(NAME, ...) NAME,
#include "kernels/operators.def"
#undef OPSERVE_OPERATOR
};

// One allowed value of an enum attribute.
struct EnumValue {
  absl::string_view name = {};  // without DirectML's prefix
  int32_t number = 0;           // DirectML's number
  absl::string_view meaning = {};
};

enum class AttributeKind : uint8_t {
  kEnum,
  kInt,
  kFloat,
  kDataType,    // the type of the operator's scalars: that of its lane input
  kScalar,      // a value of that type
  kActivation,  // an operator with is_fusable, by name; of kFusedActivation alone
  kAxes         // a list of dimensions without order, as a set of bits
};

// An attribute of an operator.
struct AttributeTraits {
  absl::string_view name = {};  // DirectML's member name
  AttributeKind kind = AttributeKind::kEnum;
  bool optional = false;
  double default_value = 0;             // where optional
  FixedList<EnumValue, 4> values = {};  // where kind is kEnum; numbers count up from 0
  // Of a FLOAT: its least value below a feature level, from which on there is none.
  FeatureLevel minimum_until = FeatureLevel::k1_0;
  double minimum = 0;
};

// A tensor of an operator.
struct TensorTraits {
  absl::string_view name = {};  // DirectML's member name
  bool optional = false;
  // Where optional: the feature level from which on it is.
  FeatureLevel optional_since = FeatureLevel::k1_0;
  // Whether it has exactly one element, which goes with all elements of the others.
  bool is_single = false;

  constexpr bool is_optional_at(FeatureLevel level) const {
    return optional && optional_since <= level;
  }
};

// A set of tensors of one operator: bit i is input i, kOutputBit the output.
using TensorMask = uint16_t;
inline constexpr TensorMask kOutputBit = 0x8000;

// Tensors whose types must be equal.
struct TypeGroup {
  TensorMask tensors = 0;
  // Whether the first of them may have an integer type instead, which counts as FLOAT32.
  bool integers_count_as_float32 = false;

  // Whether it has input `i`; the output.
  constexpr bool has_input(int i) const { return (tensors >> i & 1) != 0; }
  constexpr bool has_output() const { return (tensors & kOutputBit) != 0; }
};

// What the tensors may be from one feature level on.
struct SupportRow {
  FeatureLevel level = FeatureLevel::k1_0;
  uint8_t min_dimension_count = 1;  // for all tensors
  uint8_t max_dimension_count = kMaxDimensionCount;
  FixedList<DataTypeSet, kMaxTensors> types = {};  // inputs first, then the output
  TensorMask same_data_type = 0;  // at this level in addition to the first group of OpTraits
};

// Everything about an operator except how to compute it.
struct OpTraits {
  OpId id = {};
  OpFamily family = {};
  absl::string_view name = {};     // DirectML's name without DML_OPERATOR_
  OpShape shape = {};              // signature of its kernel
  absl::string_view summary = {};  // one sentence without the final full stop
  absl::string_view formula = {};  // over tensor and attribute names
  FixedList<TensorTraits, kMaxInputs> inputs = {};
  TensorTraits output = {.name = "OutputTensor"};
  FixedList<AttributeTraits, kMaxAttributes> attributes = {};
  FixedList<TypeGroup, 3> same_data_type = {};
  FixedList<absl::string_view, kMaxInputs> in_place =
      {};                                 // inputs the output may alias, at most one
  FixedList<SupportRow, 8> support = {};  // ascending by level; never empty
  // Whether each element of all inputs may first be replaced by x * Scale + Bias: DirectML's
  // optional ScaleBias, whose members requests give as attributes.
  bool takes_scale_bias = false;
  // Whether an activation may be computed of each result: DirectML's optional FusedActivation,
  // which requests give as attributes.
  bool takes_fused_activation = false;
  // Whether the operator may be such an activation. All its attributes are FLOATs then.
  bool is_fusable = false;
  // Whether numbers keep their NaNs to the bit, although the shape is not bitwise.
  bool keeps_nan_bits = false;
  // Most dimensions of the tensors, where leading ones of size 1 do not count.
  uint8_t max_effective_rank = kMaxDimensionCount;

  constexpr FeatureLevel introduced() const { return support[0].level; }
  constexpr int input_count() const { return static_cast<int>(inputs.size()); }
  constexpr int tensor_count() const { return input_count() + 1; }
  // Tensor i in the order of SupportRow::types: an input, or the output at input_count().
  constexpr const TensorTraits& tensor(int i) const {
    return i < input_count() ? inputs[i] : output;
  }
  // The tensor, in the order above, whose type is the lane type, which selects the kernel.
  constexpr int lane_tensor() const { return shape.lane_input(); }
  // The type of input i of every valid call of the operator whose lane type is `lane`; for numbers
  // of a type of their own, one that is valid at all levels that have such calls.
  constexpr DataType InputType(int i, DataType lane) const {
    if (shape.is_condition(i)) return DataType::kUint8;
    return shape.is_lane(i) || SharesLaneType(i) ? lane : support[0].types[i].last();
  }
  // The types that the output may have, at any feature level, where the lane type is `lane`.
  constexpr DataTypeSet OutputTypes(DataType lane) const {
    if (shape.result == OpResult::kValue) return {lane};
    DataTypeSet types;
    for (const SupportRow& row : support) types = types | row.types[input_count()];
    return types;
  }
  // The lane types that calls may have at any feature level: those that need a kernel.
  constexpr DataTypeSet lane_types() const {
    DataTypeSet types;
    for (const SupportRow& row : support) types = types | row.types[lane_tensor()];
    return types;
  }
  // Whether kernels have a mode, a value that they know at compile time: that of the first
  // attribute, if it is an enum.
  constexpr bool has_mode() const {
    return !attributes.empty() && attributes[0].kind == AttributeKind::kEnum;
  }
  // Number of modes, which count up from 0; 1 for an operator without.
  constexpr int mode_count() const {
    return has_mode() ? static_cast<int>(attributes[0].values.size()) : 1;
  }
  // The attribute that is a list of dimensions; -1 if there is none.
  constexpr int axes_attribute() const {
    for (size_t a = 0; a < attributes.size(); ++a) {
      if (attributes[a].kind == AttributeKind::kAxes) return static_cast<int>(a);
    }
    return -1;
  }
  // Tensor i as a set.
  constexpr TensorMask MaskOf(int i) const {
    return i < input_count() ? static_cast<TensorMask>(1u << i) : kOutputBit;
  }
  // Whether tensor i must have the lane type at some level.
  constexpr bool SharesLaneType(int i) const {
    const TensorMask both = MaskOf(i) | MaskOf(lane_tensor());
    for (const TypeGroup& group : same_data_type) {
      TensorMask tensors = group.tensors;
      if (&group == same_data_type.begin()) {
        for (const SupportRow& row : support) tensors |= row.same_data_type;
      }
      if ((tensors & both) == both) return true;
    }
    return false;
  }
  // The row in force at `level`, or nullptr if the operator was introduced later.
  constexpr const SupportRow* SupportAt(FeatureLevel level) const {
    const SupportRow* found = nullptr;
    for (const SupportRow& row : support) {
      if (row.level <= level) found = &row;
    }
    return found;
  }
};

// All operators by family, and by name within each; entry i has OpId i.
std::span<const OpTraits> OpTable();

// The traits of an operator.
const OpTraits& TraitsOf(OpId id);

// The operator with exactly this name, or nullptr.
const OpTraits* FindOperator(absl::string_view name);

// Up to three names of operators near `name` by edit distance, best first; the parts of a name
// count too, so that "ROUND" finds ELEMENT_WISE_ROUND. Empty if nothing is near.
std::vector<absl::string_view> NearestOperators(absl::string_view name);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_OP_TABLE_H_
