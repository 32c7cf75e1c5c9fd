// File: server/metrics/metric_set.h
//
// One scrape: the values of all metrics of metrics.def, as they are gathered.

#ifndef OPSERVE_SERVER_METRICS_METRIC_SET_H_
#define OPSERVE_SERVER_METRICS_METRIC_SET_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "prometheus/metric_family.h"

namespace opserve {

enum class MetricId : uint8_t {
#define OPSERVE_METRIC(ID, NAME, TYPE, LABELS, HELP) ID,
#include "server/metrics/metrics.def"
};

// A histogram as it is now: how many values were at most each bound, and above all of them.
struct HistogramValue {
  std::span<const double> bounds;
  // One per bound, and one for what is above; not cumulative.
  std::vector<uint64_t> counts = {};
  double sum = 0;
};

// Not thread-safe.
class MetricSet {
 public:
  // A family for each metric, in the order of the list, without values.
  MetricSet();

  // Adds a value. `labels`: one for each label of the metric, in the order of the list. Text of
  // clients may be in them: what is not printable ASCII becomes '?', and what is beyond
  // kMaxLabelBytes is cut off.
  void Add(MetricId id, std::initializer_list<absl::string_view> labels, double value);
  void Add(MetricId id, std::initializer_list<absl::string_view> labels,
           const HistogramValue& value);

  // In Prometheus' text format.
  std::string ToText() const;

  const std::vector<prometheus::MetricFamily>& families() const { return families_; }

 private:
  prometheus::ClientMetric& NewMetric(MetricId id, std::initializer_list<absl::string_view> labels);

  std::vector<prometheus::MetricFamily> families_;
};

// Longest value of a label, in bytes.
inline constexpr size_t kMaxLabelBytes = 160;

// The Content-Type of ToText.
inline constexpr char kMetricTextType[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_METRIC_SET_H_
