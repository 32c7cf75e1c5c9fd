// File: client/cli/transfers.h
//
// Moves the content of resident tensors in pieces, and shows on a terminal how far a long transfer
// has come. Not thread-safe.

#ifndef OPSERVE_CLIENT_CLI_TRANSFERS_H_
#define OPSERVE_CLIENT_CLI_TRANSFERS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal.h"
#include "opserve/client.h"

namespace opserve::cli {

// The tensor of this client with that handle, as the server lists it; NOT_FOUND where it has none,
// and ONE_HOST_NEEDED, with the tensor's host, where there may be several servers.
absl::StatusOr<ResidentTensorInfo> FindTensor(Client& client, const TensorHandle& handle);

// Creates a tensor with the content of `tensor`.
absl::StatusOr<TensorLease> CreateWithProgress(Client& client, const Tensor& tensor,
                                               const ResidentOptions& options,
                                               const Terminal& terminal);

// Replaces bytes from byte `offset` on.
absl::Status WriteWithProgress(Client& client, const TensorHandle& handle, uint64_t offset,
                               std::span<const std::byte> bytes, const Terminal& terminal);

// A copy of the tensor that `info` describes.
absl::StatusOr<Tensor> ReadWithProgress(Client& client, const ResidentTensorInfo& info,
                                        const Terminal& terminal);

}  // namespace opserve::cli

#endif  // OPSERVE_CLIENT_CLI_TRANSFERS_H_
