// File: server/pool/verify/kernel_lane.h
//
// What of a device is tested and measured at a time: the kernels of an operator in one lane type.

#ifndef OPSERVE_SERVER_POOL_VERIFY_KERNEL_LANE_H_
#define OPSERVE_SERVER_POOL_VERIFY_KERNEL_LANE_H_

#include <utility>
#include <vector>

#include "server/batch/job.h"
#include "server/device/compute_device.h"

namespace opserve {

// The kernels of an operator in one lane type: those of all its output types, modes and layouts.
struct KernelLane {
  OpId op = {};
  DataType type = DataType::kUnknown;

  bool operator==(const KernelLane&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const KernelLane& lane) {
    return H::combine(std::move(h), lane.op, lane.type);
  }
};

// All that `device` has kernels for. Stateless, like all functions here.
std::vector<KernelLane> LanesOf(const ComputeDevice& device);

// Those of them that stand for all: a move, a test, a loop and a rounding, in elements of a word
// and of half a word.
std::vector<KernelLane> RepresentativeLanesOf(const ComputeDevice& device);

// Those that a job takes, each once.
std::vector<KernelLane> LanesOf(const JobTraits& job);

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_KERNEL_LANE_H_
