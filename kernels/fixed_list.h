// File: kernels/fixed_list.h
//
// A short list with its storage inside, usable in constant expressions; for traits of operators.

#ifndef OPSERVE_KERNELS_FIXED_LIST_H_
#define OPSERVE_KERNELS_FIXED_LIST_H_

#include <array>
#include <cstddef>
#include <initializer_list>

namespace opserve {

// Holds up to N values of T. Building one with more is a compile-time error in constant
// expressions.
template <class T, size_t N>
class FixedList {
 public:
  constexpr FixedList() = default;
  constexpr FixedList(std::initializer_list<T> values) {
    for (const T& value : values) items_.at(size_++) = value;
  }

  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](size_t i) const { return items_[i]; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr const T& back() const { return items_[size_ - 1]; }

 private:
  std::array<T, N> items_ = {};
  size_t size_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_KERNELS_FIXED_LIST_H_
