#include "tests/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace opserve::bench {
namespace {

double ValueAt(std::vector<double>& values, size_t position) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::min(position, values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

double Percentile(std::vector<double> values, double share) {
  const double count = std::ceil(share * static_cast<double>(values.size()));
  return ValueAt(values, count < 1 ? 0 : static_cast<size_t>(count) - 1);
}

double Median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  return ValueAt(values, middle);
}

}  // namespace opserve::bench
