// File: kernels/reference_shapes.h
//
// How the reference reads and writes elements for operators of each shape. Internal to
// kernels/reference.cc.

#ifndef OPSERVE_KERNELS_REFERENCE_SHAPES_H_
#define OPSERVE_KERNELS_REFERENCE_SHAPES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/op_table.h"
#include "kernels/reference_ops.h"

namespace opserve::reference {

// Where the operands of one element are.
struct Element {
  std::array<const std::byte*, kMaxInputs> inputs = {};
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

// The shapes of kernels/op_shape.h: Apply computes one element of lane type T with the functor
// Body.
struct Unary {
  template <class Body, class T>
  static void Apply(const Element& at) {
    WriteNumber(Body()(ReadNumber(at.inputs[0], T())), at.output, T());
  }
};

struct Predicate {
  template <class Body, class T>
  static void Apply(const Element& at) {
    const bool holds = Body()(ReadNumber(at.inputs[0], T()));
    Write(static_cast<uint8_t>(holds ? 1 : 0), at.output);
  }
};

struct Binary {
  template <class Body, class T>
  static void Apply(const Element& at) {
    WriteNumber(Body()(ReadNumber(at.inputs[0], T()), ReadNumber(at.inputs[1], T())), at.output,
                T());
  }
};

// Elements are moved as bytes, never as numbers: a signalling NaN must arrive as one.
struct Select {
  template <class Body, class T>
  static void Apply(const Element& at) {
    using Bytes = std::array<std::byte, sizeof(T)>;
    const bool condition = Read<uint8_t>(at.inputs[0]) != 0;
    Write(Body()(condition, Read<Bytes>(at.inputs[1]), Read<Bytes>(at.inputs[2])), at.output);
  }
};

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_SHAPES_H_
