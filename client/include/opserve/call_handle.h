// File: opserve/call_handle.h
//
// A call under way: the handle that every Start... function of the client returns.
//
//   opserve::Call<opserve::Tensor> y = client->StartExecute(call);
//   if (!y.WaitFor(absl::Milliseconds(20))) y.Cancel();
//   absl::StatusOr<opserve::Tensor> output = y.Wait();

#ifndef OPSERVE_CALL_HANDLE_H_
#define OPSERVE_CALL_HANDLE_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "opserve/call.h"

namespace opserve {

// What a call ends with; only a status where there is nothing to return.
template <class T>
using CallResult = std::conditional_t<std::is_void_v<T>, absl::Status, absl::StatusOr<T>>;

// Receives the outcome of a call; `info` lives until it returns.
template <class T>
using CallCallback = absl::AnyInvocable<void(CallResult<T> result, const ExecutionInfo& info) &&>;

namespace client_internal {

// How a call is given up: its user cancels, who works on it says what that does. Thread-safe.
class Cancellation {
 public:
  // Runs the action of the moment, on this thread. No effect but the first time.
  void Cancel();
  bool is_cancelled() const;
  // From now on Cancel runs `action`, which replaces the one before; at once if it was called
  // already. Empty: there is nothing to be done.
  void OnCancel(std::function<void()> action);

 private:
  mutable std::mutex mutex_;  // guards all that follows
  bool is_cancelled_ = false;
  std::function<void()> action_;
};

// What the handles of a call share with who works on it. Thread-safe.
template <class T>
class CallState : public Cancellation {
 public:
  // Ends the call: to be called once.
  void Finish(CallResult<T> result, const ExecutionInfo& info) {
    OnCancel(nullptr);
    std::vector<CallCallback<T>> callbacks;
    {
      const std::lock_guard lock(mutex_);
      result_ = std::move(result);
      info_ = info;
      callbacks.swap(callbacks_);
      over_.notify_all();
    }
    for (CallCallback<T>& callback : callbacks) std::move(callback)(*result_, info_);
  }

  bool WaitFor(absl::Duration limit) {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return result_.has_value(); };
    if (limit != absl::InfiniteDuration()) {
      return over_.wait_for(lock, absl::ToChronoNanoseconds(limit), is_over);
    }
    over_.wait(lock, is_over);
    return true;
  }

  void Then(CallCallback<T> callback) {
    {
      const std::lock_guard lock(mutex_);
      if (!result_) {
        callbacks_.push_back(std::move(callback));
        return;
      }
    }
    std::move(callback)(*result_, info_);
  }

  // Only once the call is over; nothing changes them any more.
  const CallResult<T>& result() const { return *result_; }
  const ExecutionInfo& info() const { return info_; }

 private:
  std::mutex mutex_;  // guards all that follows, until there is a result
  std::condition_variable over_;
  std::optional<CallResult<T>> result_;
  ExecutionInfo info_;
  std::vector<CallCallback<T>> callbacks_;
};

}  // namespace client_internal

// A call that was started; copies are handles of the same call. It goes on when the last handle is
// gone. Thread-safe. May outlive the client, which waits for its calls.
template <class T>
class Call {
 public:
  // For the client; programs get handles from it.
  explicit Call(std::shared_ptr<client_internal::CallState<T>> state) : state_(std::move(state)) {}

  // Waits until the call is over and returns its result, the same each time. From then on nothing
  // refers to the memory of the call. Not to be called by a callback of the client.
  CallResult<T> Wait() const {
    state_->WaitFor(absl::InfiniteDuration());
    return state_->result();
  }

  // Waits for at most `limit`. Returns whether the call is over.
  bool WaitFor(absl::Duration limit) const { return state_->WaitFor(limit); }

  // Gives the call up, also while it waits to be tried again. It ends with CANCELLED once its
  // memory is free, possibly before this returns, or with its result where that is already there.
  // The server may have run it, or have run a part of what takes several messages.
  void Cancel() const { state_->Cancel(); }

  // How the call was run: waits for its end. Only calls of operators and sequences say more than
  // ExecutionInfo::sends.
  ExecutionInfo info() const {
    state_->WaitFor(absl::InfiniteDuration());
    return state_->info();
  }

  // Has `callback` run once when the call is over: on a thread of the client, where it must not
  // block, or on this one if the call is over already.
  void Then(CallCallback<T> callback) const { state_->Then(std::move(callback)); }

 private:
  std::shared_ptr<client_internal::CallState<T>> state_;
};

}  // namespace opserve

#endif  // OPSERVE_CALL_HANDLE_H_
