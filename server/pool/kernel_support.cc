#include "server/pool/kernel_support.h"

namespace opserve {

KernelSupport::KernelSupport(const ComputeDevice& device) {
  for (const OpTraits& op : OpTable()) {
    DataTypeSet& types = types_.emplace_back();
    for (const DataType type : kAllDataTypes) {
      if (device.Supports(op.id, type)) types = types | DataTypeSet{type};
    }
  }
}

void KernelSupport::Remove(const KernelLane& lane) {
  DataTypeSet& types = types_[static_cast<size_t>(lane.op)];
  DataTypeSet others;
  for (const DataType type : kAllDataTypes) {
    if (type != lane.type && types.contains(type)) others = others | DataTypeSet{type};
  }
  types = others;
}

}  // namespace opserve
