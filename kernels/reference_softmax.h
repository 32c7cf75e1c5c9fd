// File: kernels/reference_softmax.h
//
// The softmax family over one row, in the C library's long double: sums with compensation, one
// rounding. Results are right but for those that are within some 2^-60 of a middle between two
// elements. Independent of the kernels.

#ifndef OPSERVE_KERNELS_REFERENCE_SOFTMAX_H_
#define OPSERVE_KERNELS_REFERENCE_SOFTMAX_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "kernels/reference_elementary.h"

namespace opserve::reference {

// The sum of a row with a finite maximum and no NaN.
struct SoftmaxRowSum {
  Wide maximum = 0;
  Wide maxima = 0;  // how many elements are the maximum
  Wide rest = 0;    // the sum of e^(x - maximum) of all others; zero only where there are none
  Wide finite = 0;  // how many elements are finite
  Wide growth = 0;  // the sum of e^(x - maximum) - 1 of those

  Wide total() const { return maxima + rest; }
  Wide logarithm() const { return maxima == 1 ? std::log1p(rest) : std::log(total()); }
};

// e^(x - maximum), with what the difference lacks.
inline Wide ExpOfDifference(float x, Wide maximum) {
  const Wide difference = Wide{x} - maximum;
  if (std::isinf(difference)) return 0;
  const Wide part = difference - Wide{x};
  const Wide error = (Wide{x} - (difference - part)) - (maximum + part);
  const Wide power = std::exp(difference);
  return power + power * error;
}

// The maximum is NaN where the whole row is.
inline SoftmaxRowSum SumOfSoftmaxRow(std::span<const float> row) {
  SoftmaxRowSum sum;
  sum.maximum = -std::numeric_limits<Wide>::infinity();
  bool has_nan = false;
  for (const float x : row) {
    has_nan = has_nan || std::isnan(x);
    sum.maximum = std::fmax(sum.maximum, Wide{x});
  }
  if (has_nan || std::isinf(sum.maximum)) {
    sum.maximum = std::numeric_limits<Wide>::quiet_NaN();
    return sum;
  }
  Wide error = 0;
  for (const float x : row) {
    if (std::isfinite(x)) {
      sum.finite += 1;
      sum.growth += std::expm1(Wide{x} - sum.maximum);
    }
    if (Wide{x} == sum.maximum) {
      sum.maxima += 1;
    } else if (std::isfinite(x)) {
      // No power is zero, however small.
      const Wide power =
          std::fmax(ExpOfDifference(x, sum.maximum), std::numeric_limits<Wide>::min());
      const Wide term = power - error;
      const Wide next = sum.rest + term;
      error = (next - sum.rest) - term;
      sum.rest = next;
    }
  }
  return sum;
}

// Where the elements are nearly equal, the result is next to the reciprocal of their number.
template <class TElement>
float SoftmaxOf(float x, const SoftmaxRowSum& sum) {
  if (std::isnan(sum.maximum)) return std::numeric_limits<float>::quiet_NaN();
  if (std::isinf(x) || sum.growth < -0x1p-8) {
    return RoundedOnce<TElement>(ExpOfDifference(x, sum.maximum) / sum.total());
  }
  const Wide above_mean = sum.finite * std::expm1(Wide{x} - sum.maximum) - sum.growth;
  return SumRoundedOnce<TElement>(1 / sum.finite,
                                  above_mean / (sum.finite * (sum.finite + sum.growth)));
}

// e^x of each element, divided by the sum of them all.
template <class TElement>
std::vector<float> Softmax(const std::vector<float>& row) {
  const SoftmaxRowSum sum = SumOfSoftmaxRow(row);
  std::vector<float> results;
  for (float x : row) results.push_back(SoftmaxOf<TElement>(x, sum));
  return results;
}

// The logarithm of that. Both terms are of one sign, and either may be next to nothing.
template <class TElement>
float LogSoftmaxOf(float x, Wide maximum, Wide logarithm) {
  const Wide difference = Wide{x} - maximum;
  if (std::isinf(difference)) return x;
  if (-difference >= logarithm) return SumRoundedOnce<TElement>(difference, -logarithm);
  return SumRoundedOnce<TElement>(-logarithm, difference);
}

template <class TElement>
std::vector<float> LogSoftmax(const std::vector<float>& row) {
  const SoftmaxRowSum sum = SumOfSoftmaxRow(row);
  if (std::isnan(sum.maximum)) {
    return std::vector<float>(row.size(), std::numeric_limits<float>::quiet_NaN());
  }
  const Wide logarithm = sum.logarithm();
  std::vector<float> results;
  for (float x : row) results.push_back(LogSoftmaxOf<TElement>(x, sum.maximum, logarithm));
  return results;
}

}  // namespace opserve::reference

#endif  // OPSERVE_KERNELS_REFERENCE_SOFTMAX_H_
