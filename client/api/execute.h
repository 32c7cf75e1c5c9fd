// File: client/api/execute.h
//
// Calls of one operator, whose tensors take the fastest path there is. Thread-safe.

#ifndef OPSERVE_CLIENT_API_EXECUTE_H_
#define OPSERVE_CLIENT_API_EXECUTE_H_

#include <cstddef>
#include <span>

#include "client/api/client_impl.h"

namespace opserve::client_internal {

// The operations of the functions of Client of the same names.
Operation<Tensor> Execute(ClientImpl& client, const OperatorCall& call, const CallOptions& options);
Operation<TensorSpec> ExecuteInto(ClientImpl& client, const OperatorCall& call,
                                  std::span<std::byte> output, const CallOptions& options);
Operation<TensorSpec> ExecuteTo(ClientImpl& client, const OperatorCall& call,
                                const TensorPlace& output, const CallOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_EXECUTE_H_
