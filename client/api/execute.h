// File: client/api/execute.h
//
// Calls of one operator, whose tensors take the fastest path there is. Thread-safe.

#ifndef OPSERVE_CLIENT_API_EXECUTE_H_
#define OPSERVE_CLIENT_API_EXECUTE_H_

#include <cstddef>
#include <span>

#include "client/api/client_impl.h"

namespace opserve::client_internal {

// Who waits for the end of a call.
enum class Waiter {
  kCaller,  // the thread that makes it, which can copy inputs meanwhile
  kNobody,  // it goes on by itself: inputs are copied before it is sent
};

// The operations of the functions of Client of the same names.
Operation<Tensor> Execute(ClientImpl& client, const OperatorCall& call, const CallOptions& options,
                          Waiter waiter);
Operation<TensorSpec> ExecuteInto(ClientImpl& client, const OperatorCall& call,
                                  std::span<std::byte> output, const CallOptions& options,
                                  Waiter waiter);
Operation<TensorSpec> ExecuteTo(ClientImpl& client, const OperatorCall& call,
                                const TensorPlace& output, const CallOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_EXECUTE_H_
