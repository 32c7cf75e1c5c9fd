#include "opserve/devices.h"

#include "opserve/catalogue.h"

namespace opserve {

double DeviceCounters::AverageBatch() const {
  double in_batches = 0;
  double all = 0;
  for (const auto& [size, count] : batches) {
    in_batches += static_cast<double>(size) * static_cast<double>(count);
    all += static_cast<double>(count);
  }
  return all == 0 ? 0 : in_batches / all;
}

absl::string_view NameOf(DeviceInfo::Kind kind) {
  switch (kind) {
    case DeviceInfo::Kind::kCpu:
      return "CPU";
    case DeviceInfo::Kind::kGpu:
      return "GPU";
    case DeviceInfo::Kind::kUnknown:
      break;
  }
  return "UNKNOWN";
}

absl::string_view NameOf(DeviceInfo::State state) {
  switch (state) {
    case DeviceInfo::State::kReady:
      return "READY";
    case DeviceInfo::State::kSuspect:
      return "SUSPECT";
    case DeviceInfo::State::kLost:
      return "LOST";
    case DeviceInfo::State::kRecreating:
      return "RECREATING";
    case DeviceInfo::State::kQuarantined:
      return "QUARANTINED";
    case DeviceInfo::State::kStarting:
      return "STARTING";
    case DeviceInfo::State::kSetAside:
      return "SET_ASIDE";
    case DeviceInfo::State::kUnknown:
      break;
  }
  return "UNKNOWN";
}

absl::string_view NameOf(AttributeValueKind kind) {
  switch (kind) {
    case AttributeValueKind::kEnum:
      return "enum";
    case AttributeValueKind::kInt:
      return "int";
    case AttributeValueKind::kFloat:
      return "float";
    case AttributeValueKind::kDataType:
      return "data_type";
    case AttributeValueKind::kScalar:
      return "scalar";
    case AttributeValueKind::kActivation:
      return "activation";
    case AttributeValueKind::kAxes:
      return "axes";
    case AttributeValueKind::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace opserve
