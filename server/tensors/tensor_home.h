// File: server/tensors/tensor_home.h
//
// The device that a new resident tensor is placed on.

#ifndef OPSERVE_SERVER_TENSORS_TENSOR_HOME_H_
#define OPSERVE_SERVER_TENSORS_TENSOR_HOME_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/validate.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/pool/device_pool.h"
#include "server/resident/tensor_store.h"

namespace opserve {

// Its name, which lives as long as the pool; empty: none. DEVICE_UNAVAILABLE where the request asks
// for a GPU and there is none; what else is wrong is added to `violations`. Thread-safe.
absl::StatusOr<absl::string_view> FindHome(const v1::CreateTensorRequest& request,
                                           const DevicePool& pool, const TensorStore& tensors,
                                           std::vector<Violation>& violations);

}  // namespace opserve

#endif  // OPSERVE_SERVER_TENSORS_TENSOR_HOME_H_
