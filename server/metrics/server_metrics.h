// File: server/metrics/server_metrics.h
//
// All metrics of a server: what was counted, and what there is to be seen when somebody looks.

#ifndef OPSERVE_SERVER_METRICS_SERVER_METRICS_H_
#define OPSERVE_SERVER_METRICS_SERVER_METRICS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "server/admission/admission.h"
#include "server/edge/edge.h"
#include "server/journal/line_file.h"
#include "server/lease/device_leases.h"
#include "server/metrics/device_history.h"
#include "server/metrics/metric_set.h"
#include "server/metrics/request_metrics.h"
#include "server/pool/device_pool.h"
#include "server/regions/region_table.h"
#include "server/resident/tensor_store.h"

namespace opserve {

// What metrics are taken from. All must outlive whoever collects.
struct MetricSources {
  const RequestMetrics& requests;
  const Admission& admission;
  const DevicePool& pool;
  const TensorStore& tensors;
  const RegionTable& regions;
  const Edge& edge;
  const DeviceLeases& leases;
  const DeviceHistory& history;
  // Those that are in use.
  std::vector<const LineFile*> logs;
  std::string version;
};

// Clients and users that have a label of their own in each metric that tells who has what. All
// others are one.
inline constexpr size_t kNamedClients = 10;

// All metrics as they are now. Takes the locks of the parts of the server one after the other, each
// for a short time. Thread-safe.
MetricSet CollectMetrics(const MetricSources& sources);

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_SERVER_METRICS_H_
