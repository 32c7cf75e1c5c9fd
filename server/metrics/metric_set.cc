#include "server/metrics/metric_set.h"

#include <limits>

#include "absl/strings/str_split.h"
#include "prometheus/text_serializer.h"

namespace opserve {
namespace {

struct MetricRow {
  const char* name;
  prometheus::MetricType type;
  const char* labels;
  const char* help;
};

constexpr MetricRow kRows[] = {
#define OPSERVE_METRIC(ID, NAME, TYPE, LABELS, HELP) \
  {NAME, prometheus::MetricType::TYPE, LABELS, HELP},
#include "server/metrics/metrics.def"
};

std::string LabelOf(absl::string_view text) {
  std::string label(text.substr(0, kMaxLabelBytes));
  for (char& c : label) {
    if (c < ' ' || c > '~') c = '?';
  }
  return label;
}

}  // namespace

MetricSet::MetricSet() {
  for (const MetricRow& row : kRows) families_.push_back({row.name, row.help, row.type, {}});
}

prometheus::ClientMetric& MetricSet::NewMetric(MetricId id,
                                               std::initializer_list<absl::string_view> labels) {
  const size_t row = static_cast<size_t>(id);
  prometheus::ClientMetric& metric = families_[row].metric.emplace_back();
  auto value = labels.begin();
  for (absl::string_view name : absl::StrSplit(kRows[row].labels, ' ', absl::SkipEmpty())) {
    if (value == labels.end()) break;
    metric.label.push_back({std::string(name), LabelOf(*value++)});
  }
  return metric;
}

void MetricSet::Add(MetricId id, std::initializer_list<absl::string_view> labels, double value) {
  prometheus::ClientMetric& metric = NewMetric(id, labels);
  // Only the one that the type of the metric asks for is read.
  metric.counter.value = value;
  metric.gauge.value = value;
}

void MetricSet::Add(MetricId id, std::initializer_list<absl::string_view> labels,
                    const HistogramValue& value) {
  prometheus::ClientMetric::Histogram& histogram = NewMetric(id, labels).histogram;
  uint64_t count = 0;
  for (size_t i = 0; i < value.counts.size(); ++i) {
    count += value.counts[i];
    const double bound =
        i < value.bounds.size() ? value.bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({count, bound});
  }
  histogram.sample_count = count;
  histogram.sample_sum = value.sum;
}

std::string MetricSet::ToText() const {
  return static_cast<const prometheus::Serializer&>(prometheus::TextSerializer())
      .Serialize(families_);
}

}  // namespace opserve
