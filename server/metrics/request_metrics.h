// File: server/metrics/request_metrics.h
//
// Counts requests as they end.

#ifndef OPSERVE_SERVER_METRICS_REQUEST_METRICS_H_
#define OPSERVE_SERVER_METRICS_REQUEST_METRICS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/data_type.h"
#include "kernels/op_table.h"
#include "opserve/error_reasons.h"
#include "server/base/duration_histogram.h"
#include "server/base/on_demand.h"
#include "server/metrics/duration_metric.h"
#include "server/metrics/metric_set.h"
#include "server/metrics/name_index.h"
#include "server/record/request_record.h"

namespace opserve {

// Every combination of labels that there can be has its counter in tables: a request adds to some
// numbers, and neither allocates nor takes a lock, but for the first one of each method, and of
// each operator on each device. Threads count in different tables where there are few of them.
// Where there is no memory for the counters of an operator, its requests are counted among calls
// and errors alone. Thread-safe.
//
// Whoever scrapes while requests end sees some of them in one metric and not yet in another.
class RequestMetrics final : public RequestObserver {
 public:
  RequestMetrics();

  void OnRequest(const RequestRecord& record, const RequestSource& source) noexcept override;
  void OnSent(absl::string_view method, Clock::Duration took) noexcept override;

  // Adds what was counted so far. Requests, calls and times of which there were none are left out;
  // errors are not.
  void Collect(MetricSet& set) const;

 private:
  static constexpr size_t kOperators = 0
#define OPSERVE_OPERATOR(...) +1
#include "kernels/operators.def"
#undef OPSERVE_OPERATOR
      ;
  static constexpr size_t kNoWork = kOperators;
  static constexpr size_t kSequenceWork = kOperators + 1;
  static constexpr size_t kWorks = kOperators + 2;
  static constexpr size_t kNamedDevices = 32;
  static constexpr size_t kNoDevice = kNamedDevices + 1;
  static constexpr size_t kDevices = kNamedDevices + 2;
  static constexpr size_t kNamedMethods = 31;
  static constexpr size_t kMethods = kNamedMethods + 1;
  static constexpr size_t kCodes = 17;
  static constexpr size_t kReasons = std::size(kAllErrorReasons);
  static constexpr size_t kShards = 4;
  using Count = std::atomic<uint64_t>;
  // What is computed on one device. Most operators never are on most devices.
  struct Work {
    Count requests[kDataTypeCount][kCodes] = {};
    DurationHistogram total;
    DurationHistogram queue;
    DurationHistogram run;
  };
  struct Method {
    std::array<Count, kCodes> calls = {};
    Count received = 0;
    Count sent = 0;
    DurationHistogram sending;
  };
  // A thread counts in one of these; the numbers of all belong together.
  struct alignas(128) Shard {
    OnDemand<Work> works[kWorks][kDevices];
    // How long the payloads of requests of streams took to come.
    DurationHistogram receiving;
    std::array<Method, kMethods> methods = {};
    // The last is for errors without a reason.
    std::array<Count, kReasons + 1> errors = {};
  };

  // The table of the calling thread.
  Shard& Mine();
  static size_t WorkOf(const RequestRecord& record);
  static absl::string_view WorkName(size_t work);
  absl::string_view DeviceName(size_t device) const;
  // The sum over all tables of what `counter` picks in each.
  template <class Counter>
  uint64_t Sum(Counter counter) const;
  // Calls `use` with what each table has of the work on the device.
  template <class Use>
  void ForEachWork(size_t work, size_t device, Use use) const;
  void CollectRequests(MetricSet& set) const;
  // The sum over all tables of the histogram that `histogram` picks in each.
  template <class Histogram>
  DurationSum SumTimes(Histogram histogram) const;
  void CollectTimes(MetricSet& set, MetricId id, DurationHistogram Work::*which) const;
  void CollectTransfers(MetricSet& set) const;
  void CollectMethods(MetricSet& set) const;
  void CollectErrors(MetricSet& set) const;

  NameIndex<kNamedDevices> devices_;
  NameIndex<kNamedMethods> methods_;
  // About 0.1 MiB, and for each operator on each device 2 KiB in up to four tables.
  const std::unique_ptr<std::array<Shard, kShards>> shards_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_REQUEST_METRICS_H_
