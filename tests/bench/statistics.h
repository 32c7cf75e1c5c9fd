// File: tests/bench/statistics.h
//
// What is told of many measurements of one thing. Pure.

#ifndef OPSERVE_TESTS_BENCH_STATISTICS_H_
#define OPSERVE_TESTS_BENCH_STATISTICS_H_

#include <vector>

namespace opserve::bench {

// The value that `share` (0 to 1) of `values`, at least one, do not exceed: the least one that is
// enough, so it is always one of them.
double Percentile(std::vector<double> values, double share);

// The value in the middle, the higher one of two.
double Median(std::vector<double> values);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_STATISTICS_H_
