// File: client/api/future.h
//
// A callback that sets a future. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_API_FUTURE_H_
#define OPSERVE_CLIENT_API_FUTURE_H_

#include <future>
#include <utility>

#include "opserve/client.h"

namespace opserve::client_internal {

struct FutureResult {
  ExecuteCallback done;
  std::future<absl::StatusOr<Tensor>> future;
};

inline FutureResult MakeFuture() {
  std::promise<absl::StatusOr<Tensor>> promise;
  std::future<absl::StatusOr<Tensor>> future = promise.get_future();
  return {
      [promise = std::move(promise)](absl::StatusOr<Tensor> output, const ExecutionInfo&) mutable {
        promise.set_value(std::move(output));
      },
      std::move(future)};
}

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_FUTURE_H_
