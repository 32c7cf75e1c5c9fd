// File: client/compare/worst_elements.h
//
// The worst of many differences, in bounded memory. Not thread-safe.

#ifndef OPSERVE_CLIENT_COMPARE_WORST_ELEMENTS_H_
#define OPSERVE_CLIENT_COMPARE_WORST_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace opserve::compare_internal {

// A difference, in short.
struct RankedDifference {
  uint64_t index;
  uint64_t expected;  // bits
  uint64_t actual;    // bits
  uint64_t ulp;
  bool is_nan;
  bool beyond_tolerance;
};

// Whether `a` stands before `b` in a list of the worst; see Comparison::worst.
inline bool IsWorse(const RankedDifference& a, const RankedDifference& b) {
  if (a.is_nan != b.is_nan) return a.is_nan;
  if (a.beyond_tolerance != b.beyond_tolerance) return a.beyond_tolerance;
  if (a.ulp != b.ulp) return a.ulp > b.ulp;
  return a.index < b.index;
}

class WorstElements {
 public:
  // Keeps at most `limit`.
  explicit WorstElements(size_t limit) : limit_(limit) {}

  // Differences must come in the order of their indices, so that one as bad as the least of a full
  // list does not belong there.
  void Add(const RankedDifference& difference) {
    if (heap_.size() == limit_ && (limit_ == 0 || !IsWorse(difference, heap_.front()))) return;
    Insert(difference);
  }

  // Those that are kept, the worst first. Leaves none.
  std::vector<RankedDifference> Take();

 private:
  void Insert(const RankedDifference& difference);

  const size_t limit_;
  std::vector<RankedDifference> heap_;  // the least bad one in front
};

}  // namespace opserve::compare_internal

#endif  // OPSERVE_CLIENT_COMPARE_WORST_ELEMENTS_H_
