#include "server/service/device_messages.h"

#include <map>
#include <string>

#include "kernels/op_table.h"
#include "server/lease/lease_calls.h"

namespace opserve {
namespace {

v1::DeviceState StateOf(DeviceState state) {
  switch (state) {
    case DeviceState::kReady:
      return v1::DEVICE_STATE_READY;
    case DeviceState::kSuspect:
      return v1::DEVICE_STATE_SUSPECT;
    case DeviceState::kLost:
      return v1::DEVICE_STATE_LOST;
    case DeviceState::kRecreating:
      return v1::DEVICE_STATE_RECREATING;
    case DeviceState::kQuarantined:
      return v1::DEVICE_STATE_QUARANTINED;
    case DeviceState::kStarting:
      return v1::DEVICE_STATE_STARTING;
    case DeviceState::kSetAside:
      return v1::DEVICE_STATE_SET_ASIDE;
  }
  return v1::DEVICE_STATE_UNSPECIFIED;
}

void WriteProfile(const DeviceProfile& profile, v1::DeviceInfo& out) {
  const bool is_gpu = profile.kind == DeviceKind::kGpu;
  out.set_name(profile.name);
  out.set_description(profile.description);
  out.set_threads(static_cast<uint32_t>(profile.threads));
  out.set_kind(is_gpu ? v1::DEVICE_KIND_GPU : v1::DEVICE_KIND_CPU);
  out.set_runtime(profile.runtime);
  out.set_driver(profile.driver);
  out.set_feature_level(profile.feature_level);
  out.set_memory_bytes(profile.memory_bytes);
  out.set_software(profile.is_software);
}

void WriteBatches(const std::map<size_t, uint64_t>& by_size,
                  google::protobuf::RepeatedPtrField<v1::BatchSizeCount>& out) {
  for (const auto& [size, count] : by_size) {
    v1::BatchSizeCount& batches = *out.Add();
    batches.set_size(static_cast<uint32_t>(size));
    batches.set_count(count);
  }
}

void WriteCounters(const DeviceStatus& device, v1::DeviceCounters& out) {
#define OPSERVE_POOL_COUNTER(NAME) out.set_##NAME(device.counters.NAME);
#define OPSERVE_BATCH_COUNTER(NAME) WriteBatches(device.counters.NAME, *out.mutable_##NAME());
#define OPSERVE_TRANSFER_COUNTER(NAME) out.set_##NAME(device.transfers.NAME);
#include "proto/opserve/device_counters.def"
}

void AddDevicesOf(const DevicePool& pool, const OpTraits& op, v1::OperatorInfo& out) {
  std::map<std::string, v1::OperatorDevice> devices;
  for (DataType type : kAllDataTypes) {
    if (!op.lane_types().contains(type)) continue;
    for (const std::string& name : pool.DevicesFor(op.id, type)) {
      devices[name].add_data_types(static_cast<v1::DataType>(type));
    }
  }
  // In the order of GetServerInfo.
  for (const DeviceStatus& status : pool.Status()) {
    const auto found = devices.find(status.profile.name);
    if (found == devices.end()) continue;
    v1::OperatorDevice& device = *out.add_devices();
    device = found->second;
    device.set_device(status.profile.name);
    device.set_tensor(std::string(op.tensor(op.lane_tensor()).name));
  }
}

}  // namespace

void AddDevice(const DeviceStatus& device, v1::GetServerInfoResponse& info) {
  v1::DeviceInfo& out = *info.add_devices();
  WriteProfile(device.profile, out);
  out.set_state(StateOf(device.state));
  out.set_state_reason(device.reason);
  out.set_pending_requests(device.pending);
  out.set_pending_bytes(device.pending_bytes);
  out.set_batches_in_flight(static_cast<uint32_t>(device.in_flight));
  out.set_memory_budget_bytes(device.transfers.budget_bytes);
  out.set_kept_bytes(device.transfers.kept_bytes);
  WriteCounters(device, *out.mutable_counters());
}

void AddLease(const DeviceLeaseView& lease, v1::GetServerInfoResponse& info) {
  if (!lease.is_held) return;
  for (v1::DeviceInfo& device : *info.mutable_devices()) {
    if (device.name() == lease.device) device.set_lease_left_ms(LeaseMilliseconds(lease.left));
  }
}

void AddOperatorDevices(const DevicePool& pool, v1::ListOperatorsResponse& response) {
  for (v1::OperatorInfo& info : *response.mutable_operators()) {
    if (const OpTraits* op = FindOperator(info.name())) AddDevicesOf(pool, *op, info);
  }
}

void AddSelfTest(const SelfTestResult& result, v1::SelfTestDevicesResponse& response) {
  v1::SelfTestResult& out = *response.add_results();
  out.set_device(result.device);
  out.set_passed(result.status.ok());
  out.set_cases(static_cast<uint32_t>(result.cases));
  out.set_failure(std::string(result.status.message()));
  out.set_duration_ns(static_cast<uint64_t>(result.took.count()));
}

}  // namespace opserve
