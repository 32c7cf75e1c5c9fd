#include "tests/bench/measure.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsOf(const Function& run, int index, uint64_t runs) {
  const Clock::time_point start = Clock::now();
  for (uint64_t i = 0; i < runs; ++i) run(index);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds until the slowest caller has done `runs` runs; all start together.
double BatchSeconds(const Competitor& competitor, uint64_t runs) {
  if (competitor.callers == 1) return SecondsOf(competitor.run, 0, runs);
  std::barrier start(competitor.callers);
  std::vector<double> seconds(static_cast<size_t>(competitor.callers));
  std::vector<std::thread> threads;
  for (int index = 0; index < competitor.callers; ++index) {
    threads.emplace_back([&, index] {
      competitor.run(index);  // warms up
      start.arrive_and_wait();
      seconds[static_cast<size_t>(index)] = SecondsOf(competitor.run, index, runs);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(seconds.begin(), seconds.end());
}

uint64_t RunsPerBatch(const Competitor& competitor, double batch_seconds) {
  uint64_t runs = 1;
  while (BatchSeconds(competitor, runs) < batch_seconds) runs *= 2;
  return runs;
}

}  // namespace

std::vector<double> MedianSeconds(const std::vector<Competitor>& competitors,
                                  const Effort& effort) {
  std::vector<uint64_t> runs;
  for (const Competitor& competitor : competitors) {
    runs.push_back(RunsPerBatch(competitor, effort.batch_seconds));
  }
  std::vector<std::vector<double>> seconds(competitors.size());
  for (int repeat = 0; repeat < effort.repeats; ++repeat) {
    for (size_t i = 0; i < competitors.size(); ++i) {
      seconds[i].push_back(BatchSeconds(competitors[i], runs[i]) / static_cast<double>(runs[i]));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& each : seconds) medians.push_back(Median(std::move(each)));
  return medians;
}

}  // namespace opserve::bench
