// File: client/api/future.h
//
// The future result of a call. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_API_FUTURE_H_
#define OPSERVE_CLIENT_API_FUTURE_H_

#include <future>
#include <utility>

#include "opserve/call_handle.h"

namespace opserve::client_internal {

template <class T>
std::future<CallResult<T>> ToFuture(const Call<T>& call) {
  std::promise<CallResult<T>> promise;
  std::future<CallResult<T>> future = promise.get_future();
  call.Then([promise = std::move(promise)](CallResult<T> result, const ExecutionInfo&) mutable {
    promise.set_value(std::move(result));
  });
  return future;
}

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_FUTURE_H_
