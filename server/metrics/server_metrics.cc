#include "server/metrics/server_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/slow/decisions.h"
#include "server/metrics/process_status.h"

namespace opserve {
namespace {

constexpr absl::string_view kOthers = "other";

// Bounds of batches, of which the largest has as many requests as --max-batch-requests says.
constexpr std::array<double, 11> kBatchBounds = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

constexpr DeviceState kStates[] = {DeviceState::kReady,       DeviceState::kSuspect,
                                   DeviceState::kLost,        DeviceState::kRecreating,
                                   DeviceState::kQuarantined, DeviceState::kStarting,
                                   DeviceState::kSetAside};

template <class T>
double ToDouble(T value) {
  return static_cast<double>(value);
}

// A value without labels.
template <class T>
void AddOne(MetricSet& set, MetricId id, T value) {
  set.Add(id, {}, ToDouble(value));
}

void AddHoldings(MetricSet& set, MetricId id, const QuotaHoldings& holdings,
                 absl::string_view prefix = "") {
  for (const auto& [holder, bytes] : holdings.largest) {
    set.Add(id, {absl::StrCat(prefix, holder)}, ToDouble(bytes));
  }
  set.Add(id, {kOthers}, ToDouble(holdings.others));
}

void AddAdmission(MetricSet& set, const Admission& admission) {
  const Admission::ClientUsage clients = admission.LargestClients(kNamedClients);
  Admission::Usage all = clients.others;
  const auto add = [&](absl::string_view client, const Admission::Usage& usage) {
    set.Add(MetricId::kClientRequests, {client}, ToDouble(usage.requests));
    set.Add(MetricId::kClientBytes, {client}, ToDouble(usage.bytes));
  };
  for (const auto& [client, usage] : clients.largest) {
    add(client, usage);
    all.requests += usage.requests;
    all.bytes += usage.bytes;
  }
  add(kOthers, clients.others);
  AddOne(set, MetricId::kHeldRequests, all.requests);
  AddOne(set, MetricId::kHeldBytes, all.bytes);
  AddOne(set, MetricId::kMaxHeldRequests, admission.limits().max_requests);
  AddOne(set, MetricId::kMaxHeldBytes, admission.limits().max_bytes);
  AddOne(set, MetricId::kMaxClientBytes, admission.limits().max_bytes_per_client);
}

void AddBatches(MetricSet& set, const DeviceStatus& device) {
  HistogramValue value = {.bounds = kBatchBounds};
  value.counts.resize(kBatchBounds.size() + 1);
  for (const auto& [requests, count] : device.counters.batches) {
    size_t bucket = 0;
    while (bucket < kBatchBounds.size() && ToDouble(requests) > kBatchBounds[bucket]) ++bucket;
    value.counts[bucket] += count;
    value.sum += ToDouble(requests) * ToDouble(count);
  }
  set.Add(MetricId::kDeviceBatch, {device.profile.name}, value);
}

void AddDevice(MetricSet& set, const DeviceStatus& device, const TensorStore& tensors) {
  const DeviceProfile& profile = device.profile;
  const auto add = [&](MetricId id, auto value) { set.Add(id, {profile.name}, ToDouble(value)); };
  set.Add(MetricId::kDeviceInfo,
          {profile.name, profile.kind == DeviceKind::kGpu ? "gpu" : "cpu", profile.description,
           profile.runtime, profile.driver},
          1);
  for (const DeviceState state : kStates) {
    set.Add(MetricId::kDeviceState, {profile.name, NameOf(state)}, state == device.state ? 1 : 0);
  }
  add(MetricId::kDeviceMemory, profile.memory_bytes);
  add(MetricId::kDevicePending, device.pending);
  add(MetricId::kDevicePendingBytes, device.pending_bytes);
  add(MetricId::kDeviceInFlight, device.in_flight);
  AddBatches(set, device);
#define OPSERVE_POOL_COUNTER(NAME) add(MetricId::kDevice_##NAME, device.counters.NAME);
#define OPSERVE_TRANSFER_COUNTER(NAME) add(MetricId::kDevice_##NAME, device.transfers.NAME);
#include "proto/opserve/device_counters.def"
  add(MetricId::kDeviceMemoryBudget, device.transfers.budget_bytes);
  add(MetricId::kDeviceKeptBytes, device.transfers.kept_bytes);
  add(MetricId::kDeviceResidentBytes, tensors.BytesOn(profile.name));
}

void AddMemory(MetricSet& set, const TensorStore& tensors, const RegionTable& regions) {
  AddOne(set, MetricId::kResidentTensors, tensors.size());
  AddOne(set, MetricId::kResidentBytes, tensors.bytes());
  AddOne(set, MetricId::kMaxResidentBytes, tensors.limits().max_bytes);
  AddHoldings(set, MetricId::kClientResidentBytes, tensors.LargestIdentities(kNamedClients));
  AddOne(set, MetricId::kMaxClientResidentBytes, tensors.limits().max_bytes_per_client);
  AddOne(set, MetricId::kRegions, regions.size());
  AddOne(set, MetricId::kRegionBytes, regions.charged_bytes());
  AddOne(set, MetricId::kMaxRegionBytes, regions.limits().max_bytes_of_all);
  AddHoldings(set, MetricId::kUserRegionBytes, regions.Largest(kNamedClients), "uid:");
}

void AddLeases(MetricSet& set, const DeviceLeases& leases) {
  size_t held = 0;
  size_t waiting = 0;
  std::map<std::string, uint64_t> of_identities;
  for (const DeviceLeaseView& lease : leases.List()) {
    ++(lease.is_held ? held : waiting);
    ++of_identities[lease.identity];
  }
  set.Add(MetricId::kLeases, {"held"}, ToDouble(held));
  set.Add(MetricId::kLeases, {"waiting"}, ToDouble(waiting));
  QuotaHoldings clients;
  clients.largest.assign(of_identities.begin(), of_identities.end());
  std::stable_sort(clients.largest.begin(), clients.largest.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  while (clients.largest.size() > kNamedClients) {
    clients.others += clients.largest.back().second;
    clients.largest.pop_back();
  }
  AddHoldings(set, MetricId::kClientLeases, clients);
}

void AddConnections(MetricSet& set, const Edge& edge) {
  const EdgeCounters counters = edge.counters();
  AddOne(set, MetricId::kConnections, counters.open);
  AddOne(set, MetricId::kMaxConnections, edge.options().max_connections);
  AddOne(set, MetricId::kAccepted, counters.accepted);
  for (size_t reason = 0; reason < kCloseReasonCount; ++reason) {
    set.Add(MetricId::kClosed, {NameOf(static_cast<CloseReason>(reason))},
            ToDouble(counters.closed[reason]));
  }
}

void AddReceiveTimes(MetricSet& set, const Edge& edge) {
  DurationSum times;
  times.Add(edge.receive_times());
  set.Add(MetricId::kReceiveSeconds, {"message"}, times.value());
}

void AddDecisions(MetricSet& set) {
  AddOne(set, MetricId::kCpuDecided, cpu::slow::DecisionCount());
}

void AddProcess(MetricSet& set) {
  const ProcessStatus process = ReadProcessStatus();
  AddOne(set, MetricId::kProcessCpu, process.cpu_seconds);
  AddOne(set, MetricId::kProcessResident, process.resident_bytes);
  AddOne(set, MetricId::kProcessVirtual, process.virtual_bytes);
  AddOne(set, MetricId::kProcessFds, process.open_fds);
  AddOne(set, MetricId::kProcessMaxFds, process.max_fds);
  AddOne(set, MetricId::kProcessThreads, process.threads);
  AddOne(set, MetricId::kProcessStart, process.start_time);
}

}  // namespace

MetricSet CollectMetrics(const MetricSources& sources) {
  MetricSet set;
  set.Add(MetricId::kBuildInfo, {sources.version}, 1);
  sources.requests.Collect(set);
  AddAdmission(set, sources.admission);
  for (const DeviceStatus& device : sources.pool.Status()) AddDevice(set, device, sources.tensors);
  AddDecisions(set);
  AddMemory(set, sources.tensors, sources.regions);
  AddLeases(set, sources.leases);
  AddConnections(set, sources.edge);
  AddReceiveTimes(set, sources.edge);
  for (const LineFile* const log : sources.logs) {
    set.Add(MetricId::kLogDropped, {log->title()}, ToDouble(log->dropped()));
  }
  AddProcess(set);
  return set;
}

}  // namespace opserve
