// File: opserve/tensor.h
//
// Tensors on the client's side: TensorSpec says how elements lie in memory, TensorView points at
// memory of the caller, Tensor owns its bytes.
//
//   std::vector<float> values = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f};
//   TensorView x = TensorView::Of<float>(values, {2, 3});
//
// All types are values; const members are safe to call from any thread.

#ifndef OPSERVE_TENSOR_H_
#define OPSERVE_TENSOR_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "opserve/data_type.h"
#include "opserve/half.h"
#include "opserve/place.h"

namespace opserve {

// The DataType that a C++ type holds; kUnknown for types that are no element type.
template <class T>
inline constexpr DataType kDataTypeOf = DataType::kUnknown;
template <>
inline constexpr DataType kDataTypeOf<float> = DataType::kFloat32;
template <>
inline constexpr DataType kDataTypeOf<Half> = DataType::kFloat16;
template <>
inline constexpr DataType kDataTypeOf<double> = DataType::kFloat64;
template <>
inline constexpr DataType kDataTypeOf<uint8_t> = DataType::kUint8;
template <>
inline constexpr DataType kDataTypeOf<uint16_t> = DataType::kUint16;
template <>
inline constexpr DataType kDataTypeOf<uint32_t> = DataType::kUint32;
template <>
inline constexpr DataType kDataTypeOf<uint64_t> = DataType::kUint64;
template <>
inline constexpr DataType kDataTypeOf<int8_t> = DataType::kInt8;
template <>
inline constexpr DataType kDataTypeOf<int16_t> = DataType::kInt16;
template <>
inline constexpr DataType kDataTypeOf<int32_t> = DataType::kInt32;
template <>
inline constexpr DataType kDataTypeOf<int64_t> = DataType::kInt64;

// A C++ type that can be an element of a tensor.
template <class T>
concept TensorElement = kDataTypeOf<T>
!= DataType::kUnknown;

// A container of elements that ends with the expression that made it; a span of them does not.
template <class Values, class T>
concept TemporaryValues =
    !std::is_lvalue_reference_v<Values> && !std::ranges::borrowed_range<Values> &&
    std::convertible_to<Values, std::span<const T>>;

// Element type and layout of a tensor.
struct TensorSpec {
  DataType data_type = DataType::kUnknown;
  // Elements per dimension, slowest first; each at least 1.
  std::vector<uint32_t> sizes = {};
  // Distance between neighbours in elements, one per dimension. Empty: packed, last dimension
  // fastest. 0 repeats an input along the dimension.
  std::vector<uint32_t> strides = {};

  bool operator==(const TensorSpec&) const = default;
};

// Product of the sizes. INVALID_ARGUMENT if there are none, if one is 0, or if it exceeds 64 bits.
absl::StatusOr<uint64_t> ElementCount(const TensorSpec& spec);

// Exact bytes of a buffer with this layout, padding between elements included. INVALID_ARGUMENT if
// the type is unknown, the sizes are invalid, the strides do not match them, or the result exceeds
// 64 bits.
absl::StatusOr<uint64_t> ByteSize(const TensorSpec& spec);

// Strides of the packed layout. The sizes must pass ElementCount().
std::vector<uint32_t> PackedStrides(const std::vector<uint32_t>& sizes);

// "FLOAT32 {2, 3}", with " strides {3, 1}" where strides are given.
std::string ToString(const TensorSpec& spec);

// Describes a tensor and tells where it is: in memory that somebody else owns, or in a place that
// the server knows. Nothing is checked here; the server checks everything when the view is used.
class TensorView {
 public:
  TensorView() = default;
  // `bytes` must stay valid and unchanged as long as the view, or a call that uses it, lives.
  TensorView(TensorSpec spec, std::span<const std::byte> bytes)
      : spec_(std::move(spec)), bytes_(bytes) {}

  // A view of typed values. Empty `strides` mean packed.
  template <TensorElement T>
  static TensorView Of(std::span<const T> values, std::vector<uint32_t> sizes,
                       std::vector<uint32_t> strides = {}) {
    return TensorView({kDataTypeOf<T>, std::move(sizes), std::move(strides)},
                      std::as_bytes(values));
  }
  // Refuses temporaries that own their values: those would be gone before the call begins.
  template <TensorElement T, TemporaryValues<T> Values>
  static TensorView Of(Values&& values, std::vector<uint32_t> sizes,
                       std::vector<uint32_t> strides = {}) = delete;

  // A tensor at `place`, which does not travel with the call. A resident tensor has its own type
  // and layout where `spec` is empty. In a region, `spec` must need exactly the bytes of the range.
  static TensorView At(TensorPlace place, TensorSpec spec = {}) {
    const auto* const range = std::get_if<RegionRange>(&place);
    TensorView view(std::move(spec), range == nullptr ? std::span<std::byte>() : range->bytes());
    view.place_ = std::move(place);
    return view;
  }

  const TensorSpec& spec() const { return spec_; }
  // None of a resident tensor.
  std::span<const std::byte> bytes() const { return bytes_; }
  // Where the tensor is, if At made the view.
  const std::optional<TensorPlace>& place() const { return place_; }

  // DirectML's name of the tensor, such as "ATensor". Empty: the operator's order decides. Either
  // all inputs of a call are named or none is.
  const std::string& name() const { return name_; }
  TensorView& set_name(std::string name) {
    name_ = std::move(name);
    return *this;
  }

 private:
  TensorSpec spec_;
  std::span<const std::byte> bytes_;
  std::optional<TensorPlace> place_;
  std::string name_;
};

// An immutable tensor. Copies share the bytes, which live as long as the last of them.
class Tensor {
 public:
  // No tensor: unknown type, no sizes, no bytes.
  Tensor() = default;

  // Takes over `bytes`, aligned for every element type. INVALID_ARGUMENT unless there are exactly
  // ByteSize(spec) of them.
  static absl::StatusOr<Tensor> FromBytes(TensorSpec spec, std::string bytes);

  // A tensor in memory that `owner` keeps alive; copies of the tensor share it. The bytes must not
  // change as long as one of them lives. INVALID_ARGUMENT unless there are exactly ByteSize(spec)
  // of them, aligned for the element type.
  static absl::StatusOr<Tensor> FromShared(TensorSpec spec, std::span<const std::byte> bytes,
                                           std::shared_ptr<const void> owner);

  const TensorSpec& spec() const { return spec_; }
  DataType data_type() const { return spec_.data_type; }
  const std::vector<uint32_t>& sizes() const { return spec_.sizes; }
  std::span<const std::byte> bytes() const {
    if (bytes_ == nullptr) return {};
    return {bytes_.get(), size_};
  }

  // The elements in memory order, padding included, at least one; they live as long as the tensor
  // or a copy of it. INVALID_ARGUMENT unless T is the element type.
  template <TensorElement T>
  absl::StatusOr<std::span<const T>> Elements() const {
    if (data_type() != kDataTypeOf<T>) return WrongType(NameOf(kDataTypeOf<T>));
    return ElementsAs<T>();
  }

  // The same, but empty where T is not the element type.
  template <TensorElement T>
  [[deprecated("Elements() tells a wrong type from no elements")]] std::span<const T> values()
      const {
    if (data_type() != kDataTypeOf<T>) return {};
    return ElementsAs<T>();
  }

  // A copy of the elements in memory order, padding included, as float: exact. INVALID_ARGUMENT
  // unless the element type is FLOAT32 or FLOAT16.
  absl::StatusOr<std::vector<float>> ToFloats() const;

  // The same elements in the packed layout; itself if it has no strides. Throws std::bad_alloc
  // where there is no memory for them: strides of 0 make many elements of few bytes.
  Tensor Packed() const;

  // A view that is valid as long as this tensor or a copy of it lives.
  TensorView view() const { return TensorView(spec_, bytes()); }

 private:
  Tensor(TensorSpec spec, std::string bytes);
  Tensor(TensorSpec spec, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : spec_(std::move(spec)), bytes_(std::move(owner), bytes.data()), size_(bytes.size()) {}

  // The error of who takes the elements for `wanted`.
  absl::Status WrongType(absl::string_view wanted) const;
  template <class T>
  std::span<const T> ElementsAs() const {
    const std::span<const std::byte> held = bytes();
    return {reinterpret_cast<const T*>(held.data()), held.size() / sizeof(T)};
  }

  TensorSpec spec_;
  std::shared_ptr<const std::byte> bytes_;  // shares what holds them
  size_t size_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_TENSOR_H_
