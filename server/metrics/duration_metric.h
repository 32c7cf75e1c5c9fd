// File: server/metrics/duration_metric.h
//
// Durations that were counted, as a value of a metric. Not thread-safe.

#ifndef OPSERVE_SERVER_METRICS_DURATION_METRIC_H_
#define OPSERVE_SERVER_METRICS_DURATION_METRIC_H_

#include "server/base/duration_histogram.h"
#include "server/metrics/metric_set.h"

namespace opserve {

// The sum of several histograms, in seconds.
class DurationSum {
 public:
  DurationSum();

  void Add(const DurationHistogram& part);

  // Whether there was no duration at all.
  bool empty() const { return count_ == 0; }
  // Its bounds live for ever.
  const HistogramValue& value() const { return value_; }

 private:
  uint64_t count_ = 0;
  HistogramValue value_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_DURATION_METRIC_H_
