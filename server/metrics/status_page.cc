#include "server/metrics/status_page.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "kernels/op_table.h"
#include "nlohmann/json.hpp"

namespace opserve {
namespace {

using Json = nlohmann::json;

Json ValueOf(const prometheus::MetricFamily& family, const prometheus::ClientMetric& metric) {
  Json value = {{"labels", Json::object()}};
  for (const auto& label : metric.label) value["labels"][label.name] = label.value;
  if (family.type == prometheus::MetricType::Counter) {
    value["value"] = metric.counter.value;
  } else if (family.type == prometheus::MetricType::Gauge) {
    value["value"] = metric.gauge.value;
  } else {
    value["count"] = metric.histogram.sample_count;
    value["sum"] = metric.histogram.sample_sum;
    Json& buckets = value["buckets"] = Json::array();
    for (const auto& bucket : metric.histogram.bucket) {
      Json bound = std::isinf(bucket.upper_bound) ? Json() : Json(bucket.upper_bound);
      buckets.push_back(Json::array({std::move(bound), bucket.cumulative_count}));
    }
  }
  return value;
}

Json MetricsJson(const MetricSet& set) {
  Json metrics = Json::object();
  for (const prometheus::MetricFamily& family : set.families()) {
    Json& values = metrics[family.name] = Json::array();
    for (const auto& metric : family.metric) values.push_back(ValueOf(family, metric));
  }
  return metrics;
}

Json DevicesJson(const DevicePool& pool) {
  Json devices = Json::array();
  for (const DeviceStatus& device : pool.Status()) {
    devices.push_back({{"name", device.profile.name},
                       {"description", device.profile.description},
                       {"state", std::string(NameOf(device.state))},
                       {"reason", device.reason}});
  }
  return devices;
}

double SecondsOf(Clock::Duration time) { return std::chrono::duration<double>(time).count(); }

Json LeasesJson(const DeviceLeases& leases) {
  Json list = Json::array();
  for (const DeviceLeaseView& lease : leases.List()) {
    list.push_back({{"number", lease.number},
                    {"client", lease.client},
                    {"label", lease.label},
                    {"device", lease.device},
                    {"held", lease.is_held},
                    {"position", lease.position},
                    {"age", SecondsOf(lease.age)},
                    {"left", SecondsOf(lease.left)}});
  }
  return list;
}

Json FaultsJson(const DeviceHistory& history) {
  Json list = Json::array();
  for (const DeviceFault& fault : history.Latest()) {
    list.push_back({{"time", static_cast<double>(absl::ToUnixMicros(fault.time)) / 1e6},
                    {"device", fault.device},
                    {"state", std::string(NameOf(fault.state))},
                    {"reason", fault.reason}});
  }
  return list;
}

Json OperatorsJson() {
  Json operators = Json::array();
  for (const OpTraits& traits : OpTable()) {
    Json types = Json::array();
    for (const DataType type : kAllDataTypes) {
      if (traits.lane_types().contains(type)) types.push_back(std::string(NameOf(type)));
    }
    operators.push_back({{"name", std::string(traits.name)},
                         {"summary", std::string(traits.summary)},
                         {"types", std::move(types)}});
  }
  return operators;
}

}  // namespace

std::string StatusJson(const MetricSources& sources, absl::Time now) {
  const Json status = {{"version", sources.version},
                       {"time", static_cast<double>(absl::ToUnixMicros(now)) / 1e6},
                       {"devices", DevicesJson(sources.pool)},
                       {"leases", LeasesJson(sources.leases)},
                       {"faults", FaultsJson(sources.history)},
                       {"operators", OperatorsJson()},
                       {"metrics", MetricsJson(CollectMetrics(sources))}};
  // What a driver says need not be UTF-8.
  return status.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpAnswer AnswerPath(const MetricSources& sources, absl::string_view path) {
  HttpAnswer answer;
  if (path == "/") {
    answer.content_type = "text/html; charset=utf-8";
    answer.body = std::string(StatusPage());
  } else if (path == "/metrics") {
    answer.content_type = kMetricTextType;
    answer.body = CollectMetrics(sources).ToText();
  } else if (path == "/status.json") {
    answer.content_type = "application/json";
    answer.body = StatusJson(sources, absl::Now());
  } else {
    answer.status = 404;
    answer.body = "There are /, /metrics and /status.json.\n";
  }
  return answer;
}

}  // namespace opserve
