// File: server/tensors/region_range.h
//
// Ranges of shared memory, as requests name them.

#ifndef OPSERVE_SERVER_TENSORS_REGION_RANGE_H_
#define OPSERVE_SERVER_TENSORS_REGION_RANGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/validate.h"
#include "opserve/v1/tensor.pb.h"
#include "server/regions/region.h"
#include "server/regions/region_table.h"

namespace opserve {

// Finds the range, at the proto path `field`, of a request of `caller`. REGION_NOT_FOUND; a range
// that exceeds its region is added to `violations`, and `slice` has no bytes then. Stateless.
absl::Status FindSlice(RegionTable& regions, const RegionCaller& caller,
                       const v1::RegionRange& range, const std::string& field, RegionSlice& slice,
                       std::vector<Violation>& violations);

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_REGION_RANGE_H_
