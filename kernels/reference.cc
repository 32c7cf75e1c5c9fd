#include "kernels/reference.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "kernels/op_rows.h"
#include "kernels/reference_elementary.h"
#include "kernels/reference_ops.h"
#include "kernels/reference_quantization.h"
#include "kernels/reference_shapes.h"
#include "kernels/reference_softmax.h"

namespace opserve {
namespace reference {
namespace {

#define OPSERVE_STRIP(...) __VA_ARGS__
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE)                         \
  struct Op##NAME {                                                                          \
    static constexpr const OpTraits& kRow = op_rows::kRows[static_cast<size_t>(OpId::NAME)]; \
    using Shape = SHAPE;                                                                     \
    template <int kMode>                                                                     \
    struct Body {                                                                            \
      template <class TElement, class T>                                                     \
      auto operator()(TElement, [[maybe_unused]] const Attributes& p,                        \
                      OPSERVE_OPERANDS_##SHAPE(bool, T)) const {                             \
        return OPSERVE_STRIP REFERENCE;                                                      \
      }                                                                                      \
    };                                                                                       \
  };
#include "kernels/operators.def"
#undef OPSERVE_OPERATOR
#undef OPSERVE_STRIP

// Address of the element at `coordinates`.
template <class Byte>
Byte* AddressOf(const TensorDesc& desc, const std::array<uint32_t, kMaxDimensionCount>& coordinates,
                Byte* first) {
  uint64_t offset = 0;
  for (int d = 0; d < desc.dimension_count; ++d) {
    offset += uint64_t{coordinates[d]} * desc.strides[d];
  }
  return first + offset * SizeOf(desc.data_type);
}

// Steps to the next coordinates, last dimension fastest; false after the last ones.
bool Advance(const TensorDesc& desc, std::array<uint32_t, kMaxDimensionCount>& coordinates) {
  for (int d = desc.dimension_count - 1; d >= 0; --d) {
    if (++coordinates[d] < desc.sizes[d]) return true;
    coordinates[d] = 0;
  }
  return false;
}

// Writes x * Scale + Bias, in the type of x.
template <class T>
void ScaleAndBias(const ScaleBias& by, const std::byte* from, std::byte* to) {
  if constexpr (sizeof(T) < 8) {
    const auto x = ReadNumber(from, T());
    WriteNumber(
        MultipliedAndAdded<T>(x, std::bit_cast<float>(by.scale), std::bit_cast<float>(by.bias)), to,
        T());
  }
}

// Computes the activation of the element at `element`.
void Activate(const FusedActivation& activation, DataType type, std::byte* element) {
  const uint32_t size[] = {1};
  Invocation call;
  call.op = activation.op;
  call.attributes = activation.attributes;
  call.lane_type = type;
  call.inputs[0] = call.output = PackedDesc(type, size);
  call.output_bytes = SizeOf(type);
  std::byte result[8];
  RunReference(call, std::array<const std::byte*, 1>{element}, result);
  std::memcpy(element, result, SizeOf(type));
}

// The dimensions in which elements of a row differ, each as a bit.
uint32_t RowDimensionsOf(const Invocation& call) {
  const int axes = TraitsOf(call.op).axes_attribute();
  if (axes >= 0) return static_cast<uint32_t>(call.attributes[static_cast<size_t>(axes)]);
  return 1u << (call.output.dimension_count - 1);
}

// The elements by row, each in the order of coordinates: rows are told apart by the coordinates
// that their elements have in common.
std::vector<std::vector<Element>> RowsOf(const Invocation& call,
                                         std::span<const std::byte* const> inputs,
                                         std::byte* output) {
  const uint32_t within = RowDimensionsOf(call);
  std::map<std::array<uint32_t, kMaxDimensionCount>, std::vector<Element>> rows;
  std::array<uint32_t, kMaxDimensionCount> coordinates = {};
  do {
    auto common = coordinates;
    for (size_t d = 0; d < common.size(); ++d) {
      if ((within >> d & 1) != 0) common[d] = 0;
    }
    rows[common].push_back({.inputs = {AddressOf(call.inputs[0], coordinates, inputs[0])},
                            .output = AddressOf(call.output, coordinates, output)});
  } while (Advance(call.output, coordinates));
  std::vector<std::vector<Element>> all;
  for (auto& [common, row] : rows) all.push_back(std::move(row));
  return all;
}

template <class Op, class T>
void RunRows(const Invocation& call, std::span<const std::byte* const> inputs, std::byte* output) {
  for (const std::vector<Element>& row : RowsOf(call, inputs, output)) {
    Row::Apply<typename Op::template Body<0>, T>(row, Attributes(call.attributes));
  }
}

// Computes one element of an operator, a lane type and a mode.
using ElementFunction = void (*)(const Element& at, const Attributes& attributes,
                                 DataType output_type);

template <class Op, class T, int kMode>
void ComputeElement(const Element& at, const Attributes& attributes, DataType output_type) {
  Op::Shape::template Apply<typename Op::template Body<kMode>, T>(at, attributes, output_type);
}

// There is one walk for all functions, which are many.
void RunElements(const Invocation& call, std::span<const std::byte* const> inputs,
                 std::byte* output, ElementFunction compute) {
  const size_t input_count = TraitsOf(call.op).inputs.size();
  const Attributes attributes(call.attributes);
  std::array<uint32_t, kMaxDimensionCount> coordinates = {};
  do {
    Element at;
    for (size_t i = 0; i < input_count; ++i) {
      at.inputs[i] = AddressOf(call.inputs[i], coordinates, inputs[i]);
      at.types[i] = call.inputs[i].data_type;
    }
    at.output = AddressOf(call.output, coordinates, output);
    std::array<std::byte[sizeof(uint64_t)], kMaxInputs> scaled = {};
    if (call.scale_bias) {
      for (size_t i = 0; i < input_count; ++i) {
        WithType(at.types[i], [&]<DataType, class TInput>(TInput) {
          ScaleAndBias<TInput>(*call.scale_bias, at.inputs[i], scaled[i]);
        });
        at.inputs[i] = scaled[i];
      }
    }
    compute(at, attributes, call.output.data_type);
    if (call.fused_activation) Activate(*call.fused_activation, call.lane_type, at.output);
  } while (Advance(call.output, coordinates));
}

template <class Op, DataType kType, class T, int... kMode>
void RunMode(const Invocation& call, std::span<const std::byte* const> inputs, std::byte* output,
             std::integer_sequence<int, kMode...>) {
  if constexpr (Op::kRow.lane_types().contains(kType)) {
    if constexpr (Op::kRow.shape.is_row) {
      RunRows<Op, T>(call, inputs, output);
    } else {
      constexpr ElementFunction kCompute[] = {&ComputeElement<Op, T, kMode>...};
      RunElements(call, inputs, output, kCompute[call.mode()]);
    }
  }
}

template <class Op>
void RunOperator(const Invocation& call, std::span<const std::byte* const> inputs,
                 std::byte* output) {
  constexpr auto kModes = std::make_integer_sequence<int, Op::kRow.mode_count()>();
  WithType(call.lane_type, [&]<DataType kType, class T>(T) {
    RunMode<Op, kType, T>(call, inputs, output, kModes);
  });
}

}  // namespace
}  // namespace reference

void RunReference(const Invocation& invocation, std::span<const std::byte* const> inputs,
                  std::byte* output) {
  std::memset(output, 0, invocation.output_bytes);
  switch (invocation.op) {
#define OPSERVE_OPERATOR(NAME, TRAITS, SHAPE, SIMD, HLSL, REFERENCE) \
  case OpId::NAME:                                                   \
    return reference::RunOperator<reference::Op##NAME>(invocation, inputs, output);
#include "kernels/operators.def"
#undef OPSERVE_OPERATOR
  }
}

}  // namespace opserve
