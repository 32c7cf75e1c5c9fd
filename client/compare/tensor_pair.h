// File: client/compare/tensor_pair.h
//
// Two tensors of the same type and sizes, walked through together. Not thread-safe.

#ifndef OPSERVE_CLIENT_COMPARE_TENSOR_PAIR_H_
#define OPSERVE_CLIENT_COMPARE_TENSOR_PAIR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "opserve/tensor.h"

namespace opserve::compare_internal {

// OK where the bytes of the tensor are here, as many as its layout needs. `what` names it in
// errors.
absl::Status CheckBytes(absl::string_view what, const TensorView& tensor);

// Strides in elements, one per dimension, of a layout that passed CheckBytes.
std::vector<uint64_t> StridesOf(const TensorSpec& spec);

// The coordinates of element `index` of the packed layout.
std::vector<uint32_t> CoordinatesOf(const std::vector<uint32_t>& sizes, uint64_t index);

class TensorPair {
 public:
  // Refers to the tensors' bytes. INVALID_ARGUMENT where they are no pair.
  static absl::StatusOr<TensorPair> Make(const TensorView& expected, const TensorView& actual);

  // Calls visit(index, expected bits, actual bits) for each pair of elements whose bits differ, in
  // the order of the packed layout. Bits must be as wide as an element.
  template <class Bits, class Visitor>
  void ForEachUnequal(const Visitor& visit) const {
    // As many elements as fit a few lines of the cache are compared at a time.
    constexpr uint64_t kBlock = 2048 / sizeof(Bits);
    const Dimension& inner = dimensions_.back();
    uint64_t index = 0;
    std::vector<uint64_t> at(dimensions_.size() - 1);
    const std::byte* expected = expected_;
    const std::byte* actual = actual_;
    while (true) {
      if (inner.expected_step == sizeof(Bits) && inner.actual_step == sizeof(Bits)) {
        for (uint64_t i = 0; i < inner.size; i += kBlock) {
          const uint64_t count = std::min(kBlock, inner.size - i);
          const std::byte* const e = expected + i * sizeof(Bits);
          const std::byte* const a = actual + i * sizeof(Bits);
          if (std::memcmp(e, a, count * sizeof(Bits)) == 0) continue;
          VisitRow<Bits>(e, a, sizeof(Bits), sizeof(Bits), count, index + i, visit);
        }
      } else {
        VisitRow<Bits>(expected, actual, inner.expected_step, inner.actual_step, inner.size, index,
                       visit);
      }
      index += inner.size;
      size_t d = at.size();
      while (d > 0) {
        const Dimension& dimension = dimensions_[--d];
        if (++at[d] < dimension.size) {
          expected += dimension.expected_step;
          actual += dimension.actual_step;
          break;
        }
        at[d] = 0;
        expected -= dimension.expected_step * (dimension.size - 1);
        actual -= dimension.actual_step * (dimension.size - 1);
        if (d == 0) return;
      }
      if (at.empty()) return;
    }
  }

 private:
  // Steps in bytes.
  struct Dimension {
    uint64_t size;
    uint64_t expected_step;
    uint64_t actual_step;
  };

  TensorPair(const TensorView& expected, const TensorView& actual);

  template <class Bits, class Visitor>
  static void VisitRow(const std::byte* expected, const std::byte* actual, uint64_t expected_step,
                       uint64_t actual_step, uint64_t size, uint64_t index, const Visitor& visit) {
    for (uint64_t i = 0; i < size; ++i) {
      Bits e;
      Bits a;
      std::memcpy(&e, expected + i * expected_step, sizeof(Bits));
      std::memcpy(&a, actual + i * actual_step, sizeof(Bits));
      if (e != a) visit(index + i, e, a);
    }
  }

  // At least one; those that are walked through like one are one.
  std::vector<Dimension> dimensions_;
  const std::byte* expected_;
  const std::byte* actual_;
};

}  // namespace opserve::compare_internal

#endif  // OPSERVE_CLIENT_COMPARE_TENSOR_PAIR_H_
