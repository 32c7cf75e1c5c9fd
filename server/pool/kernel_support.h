// File: server/pool/kernel_support.h
//
// Which kernels a device has.

#ifndef OPSERVE_SERVER_POOL_KERNEL_SUPPORT_H_
#define OPSERVE_SERVER_POOL_KERNEL_SUPPORT_H_

#include <cstddef>
#include <vector>

#include "kernels/op_table.h"
#include "server/device/compute_device.h"
#include "server/pool/verify/kernel_lane.h"

namespace opserve {

// What a device told when it was asked for all of them. Not thread-safe.
class KernelSupport {
 public:
  // No device was asked yet: there are none.
  KernelSupport() = default;
  explicit KernelSupport(const ComputeDevice& device);

  bool Has(OpId op, DataType lane) const {
    return !types_.empty() && types_[static_cast<size_t>(op)].contains(lane);
  }
  // The device has been asked, and turned out not to have these.
  void Remove(const KernelLane& lane);

 private:
  std::vector<DataTypeSet> types_;  // by operator
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_KERNEL_SUPPORT_H_
