#include "server/pool/verify/kernel_lane.h"

#include <algorithm>

#include "kernels/op_table.h"

namespace opserve {

std::vector<KernelLane> LanesOf(const ComputeDevice& device) {
  std::vector<KernelLane> lanes;
  for (const OpTraits& op : OpTable()) {
    for (const DataType type : kAllDataTypes) {
      if (op.lane_types().contains(type) && device.Supports(op.id, type)) {
        lanes.push_back({op.id, type});
      }
    }
  }
  return lanes;
}

std::vector<KernelLane> RepresentativeLanesOf(const ComputeDevice& device) {
  std::vector<KernelLane> lanes;
  for (const OpId op : {OpId::ELEMENT_WISE_IF, OpId::ELEMENT_WISE_IS_INFINITY,
                        OpId::ELEMENT_WISE_MODULUS_TRUNCATE, OpId::ELEMENT_WISE_ROUND}) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16}) {
      if (device.Supports(op, type)) lanes.push_back({op, type});
    }
  }
  return lanes;
}

std::vector<KernelLane> LanesOf(const JobTraits& job) {
  if (job.sequence == nullptr) return {{job.lane.op, job.lane.lane_type}};
  std::vector<KernelLane> lanes;
  for (const SequenceStep& step : job.sequence->steps) {
    const KernelLane lane = {step.call->op, step.call->lane_type};
    if (std::find(lanes.begin(), lanes.end(), lane) == lanes.end()) lanes.push_back(lane);
  }
  return lanes;
}

}  // namespace opserve
