// File: server/metrics/status_page.h
//
// The page about a server for people, and the data that it shows.

#ifndef OPSERVE_SERVER_METRICS_STATUS_PAGE_H_
#define OPSERVE_SERVER_METRICS_STATUS_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/metrics/http_listener.h"
#include "server/metrics/server_metrics.h"

namespace opserve {

// server/metrics/status_page.html. Lives for ever.
absl::string_view StatusPage();

// What the page shows, as a JSON object, `now` being the time:
//   version    of the server
//   time       in seconds since 1970
//   devices    each with name, description, state, and reason where it is not ready
//   leases     as AdminService.ListLeases has them: number, client, label, device, held, position,
//   and
//              seconds since it was granted or asked for (age) and that it lasts yet (left)
//   faults     the latest of devices, each with time, device, state and reason, the newest first
//   operators  of the table, each with name, summary and the types of its kernels
//   metrics    by name: a list with the labels of each value, and `value`, or for histograms
//   `count`,
//              `sum` and `buckets`, pairs of an upper bound (null: none) and a cumulative count
std::string StatusJson(const MetricSources& sources, absl::Time now);

// The answer for a path: "/", "/metrics" and "/status.json" are there. Thread-safe.
HttpAnswer AnswerPath(const MetricSources& sources, absl::string_view path);

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_STATUS_PAGE_H_
