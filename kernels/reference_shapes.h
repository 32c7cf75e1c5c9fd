// File: kernels/reference_shapes.h
//
// How the reference reads and writes elements for operators of each shape. Internal to
// kernels/reference.cc.

#ifndef OPSERVE_KERNELS_REFERENCE_SHAPES_H_
#define OPSERVE_KERNELS_REFERENCE_SHAPES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/invocation.h"
#include "kernels/reference_ops.h"
#include "kernels/reference_power.h"
#include "kernels/scalar.h"

namespace opserve::reference {

// Where the operands of one element are.
struct Element {
  std::array<const std::byte*, kMaxInputs> inputs = {};
  std::array<DataType, kMaxInputs> types = {};  // kUnknown where one is absent
  std::byte* output = nullptr;
};

// Numbers are read and written at any alignment. FLOAT16 is computed as float.
template <class T>
T Read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
inline float ReadNumber(const std::byte* from, Float16) { return ToFloat(Read<Float16>(from)); }
template <class T>
T ReadNumber(const std::byte* from, T) {
  return Read<T>(from);
}

template <class T>
void Write(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof(T));
}
inline void WriteNumber(float value, std::byte* to, Float16) { Write(ToHalf(value), to); }
// Integers of fewer than 32 bits are computed as int, and wrap when they are written.
template <class TResult, class T>
void WriteNumber(TResult value, std::byte* to, T) {
  Write(static_cast<T>(value), to);
}

// Calls run.operator()<type>(T()) with the C++ type that `type` stands for.
template <class Function>
void WithType(DataType type, const Function& run) {
  switch (type) {
    case DataType::kFloat64:
      return run.template operator()<DataType::kFloat64>(double());
    case DataType::kFloat32:
      return run.template operator()<DataType::kFloat32>(float());
    case DataType::kFloat16:
      return run.template operator()<DataType::kFloat16>(Float16());
    case DataType::kInt64:
      return run.template operator()<DataType::kInt64>(int64_t());
    case DataType::kInt32:
      return run.template operator()<DataType::kInt32>(int32_t());
    case DataType::kInt16:
      return run.template operator()<DataType::kInt16>(int16_t());
    case DataType::kInt8:
      return run.template operator()<DataType::kInt8>(int8_t());
    case DataType::kUint64:
      return run.template operator()<DataType::kUint64>(uint64_t());
    case DataType::kUint32:
      return run.template operator()<DataType::kUint32>(uint32_t());
    case DataType::kUint16:
      return run.template operator()<DataType::kUint16>(uint16_t());
    case DataType::kUint8:
      return run.template operator()<DataType::kUint8>(uint8_t());
    case DataType::kUnknown:
      break;
  }
}

// The attributes of a call, in the operator's order.
class Attributes {
 public:
  explicit Attributes(const AttributeValues& bits) : bits_(bits) {}
  // An attribute that is a FLOAT.
  float operator[](size_t i) const { return std::bit_cast<float>(static_cast<uint32_t>(bits_[i])); }
  Scalar scalar(size_t i) const { return {bits_[i]}; }

 private:
  AttributeValues bits_;
};

// The shapes of kernels/op_shape.h: Apply computes one element of lane type T with the functor
// Body.
struct Unary {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    WriteNumber(Body()(T(), p, ReadNumber(at.inputs[0], T())), at.output, T());
  }
};

struct Binary {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    WriteNumber(Body()(T(), p, ReadNumber(at.inputs[0], T()), ReadNumber(at.inputs[1], T())),
                at.output, T());
  }
};

struct Power {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    Exponent exponent;
    WithType(at.types[1], [&]<DataType, class TExponent>(TExponent) {
      exponent.value = ReadNumber(at.inputs[1], TExponent());
      exponent.is_integer = std::integral<TExponent>;
    });
    WriteNumber(Body()(T(), p, ReadNumber(at.inputs[0], T()), exponent), at.output, T());
  }
};

// A number of a type of its own, which has fewer than 64 bits; 0 where it is absent.
inline double NumberOf(const Element& at, size_t input) {
  double number = 0;
  WithType(at.types[input], [&]<DataType, class T>(T) {
    number = static_cast<double>(ReadNumber(at.inputs[input], T()));
  });
  return number;
}

// Results of numbers only.
template <const OpShape& kShape>
struct OfNumbers {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    constexpr auto kInputs = std::make_index_sequence<kShape.operands.size()>();
    WriteNumber(Result<Body, T>(at, p, kInputs), at.output, T());
  }

 private:
  template <class Body, class T, size_t... kInput>
  static auto Result(const Element& at, const Attributes& p, std::index_sequence<kInput...>) {
    return Body()(T(), p, NumberOf(at, kInput)...);
  }
};
using Quantization = OfNumbers<op_shapes::kQuantization>;
using QuantizedSum = OfNumbers<op_shapes::kQuantizedSum>;

// Flags and counts.
inline void WriteFlag(uint32_t value, DataType output, std::byte* to) {
  if (output == DataType::kUint8) {
    Write(static_cast<uint8_t>(value), to);
  } else {
    Write(value, to);
  }
}

struct Predicate {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType output) {
    const bool holds = Body()(T(), p, ReadNumber(at.inputs[0], T()));
    WriteFlag(holds ? 1 : 0, output, at.output);
  }
};

struct Comparison {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType output) {
    const bool holds = Body()(T(), p, ReadNumber(at.inputs[0], T()), ReadNumber(at.inputs[1], T()));
    WriteFlag(holds ? 1 : 0, output, at.output);
  }
};

// Elements are read and written as bits, never as numbers: a signalling NaN must stay one.
template <class T>
uint64_t ReadBits(const std::byte* from, T) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, sizeof(T));
  return bits;
}

template <class T>
void WriteBits(uint64_t bits, std::byte* to, T) {
  std::memcpy(to, &bits, sizeof(T));
}

struct Count {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType output) {
    WriteFlag(Body()(T(), p, ReadBits(at.inputs[0], T())), output, at.output);
  }
};

struct Bits {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    WriteBits(Body()(T(), p, ReadBits(at.inputs[0], T())), at.output, T());
  }
};

using Move = Bits;

struct BitPair {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    WriteBits(Body()(T(), p, ReadBits(at.inputs[0], T()), ReadBits(at.inputs[1], T())), at.output,
              T());
  }
};

struct Select {
  template <class Body, class T>
  static void Apply(const Element& at, const Attributes& p, DataType /*output*/) {
    const bool condition = Read<uint8_t>(at.inputs[0]) != 0;
    WriteBits(Body()(T(), p, condition, ReadBits(at.inputs[1], T()), ReadBits(at.inputs[2], T())),
              at.output, T());
  }
};

// All elements of a row at once, in its order.
struct Row {
  template <class Body, class T>
  static void Apply(const std::vector<Element>& row, const Attributes& p) {
    std::vector<decltype(ReadNumber(row[0].inputs[0], T()))> numbers;
    for (const Element& at : row) numbers.push_back(ReadNumber(at.inputs[0], T()));
    const auto results = Body()(T(), p, numbers);
    for (size_t i = 0; i < row.size(); ++i) WriteNumber(results[i], row[i].output, T());
  }
};

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_SHAPES_H_
