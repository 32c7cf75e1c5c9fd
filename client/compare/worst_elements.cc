#include "client/compare/worst_elements.h"

#include <algorithm>
#include <utility>

namespace opserve::compare_internal {

void WorstElements::Insert(const RankedDifference& difference) {
  if (heap_.size() == limit_) {
    std::pop_heap(heap_.begin(), heap_.end(), IsWorse);
    heap_.pop_back();
  }
  heap_.push_back(difference);
  std::push_heap(heap_.begin(), heap_.end(), IsWorse);
}

std::vector<RankedDifference> WorstElements::Take() {
  std::sort(heap_.begin(), heap_.end(), IsWorse);
  return std::exchange(heap_, {});
}

}  // namespace opserve::compare_internal
