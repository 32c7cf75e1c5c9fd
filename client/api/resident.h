// File: client/api/resident.h
//
// Operations about tensors that stay at the server; see the functions of the same names in
// opserve/client.h. What does not fit into a message travels in pieces, under one deadline.
// Thread-safe.

#ifndef OPSERVE_CLIENT_API_RESIDENT_H_
#define OPSERVE_CLIENT_API_RESIDENT_H_

#include <span>
#include <vector>

#include "client/api/client_impl.h"
#include "opserve/resident.h"

namespace opserve::client_internal {

Operation<TensorLease> CreateTensor(ClientImpl& client, const TensorView& content,
                                    const ResidentOptions& resident, const CallOptions& options);

Operation<TensorLease> CreateTensor(ClientImpl& client, const TensorSpec& spec,
                                    const ResidentOptions& resident, const CallOptions& options);

Operation<void> WriteTensor(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                            std::span<const std::byte> bytes, const CallOptions& options);

Operation<Tensor> ReadTensor(ClientImpl& client, const TensorHandle& tensor,
                             const CallOptions& options);

Operation<void> ReadTensorInto(ClientImpl& client, const TensorHandle& tensor, uint64_t offset,
                               std::span<std::byte> target, const CallOptions& options);

Operation<absl::Duration> RenewTensors(ClientImpl& client, const std::vector<TensorHandle>& tensors,
                                       absl::Duration ttl, const CallOptions& options);

Operation<uint32_t> DeleteTensors(ClientImpl& client, const std::vector<TensorHandle>& tensors,
                                  const CallOptions& options);

Operation<ResidentTensorList> ListTensors(ClientImpl& client, const CallOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_RESIDENT_H_
