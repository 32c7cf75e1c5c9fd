// File: tests/bench/measure.h
//
// Timing of competing functions on a machine that does other things too: their runs alternate, and
// medians are compared.

#ifndef OPSERVE_TESTS_BENCH_MEASURE_H_
#define OPSERVE_TESTS_BENCH_MEASURE_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace opserve::bench {

// One competitor. Runs once per call; thread `index` of `threads` calls it with its index.
using Function = std::function<void(int index)>;

struct Competitor {
  Function run;
  // How many threads call `run` side by side.
  int callers = 1;
};

// How long to measure.
struct Effort {
  int repeats = 31;
  // Each repeat runs a competitor as often as fits in this time, at least once. Shorter than a time
  // slice of the scheduler, so that most batches run undisturbed.
  double batch_seconds = 0.0005;
};

// Median seconds per run of every competitor, from batches that take turns.
std::vector<double> MedianSeconds(const std::vector<Competitor>& competitors, const Effort& effort);

}  // namespace opserve::bench

#endif  // OPSERVE_TESTS_BENCH_MEASURE_H_
