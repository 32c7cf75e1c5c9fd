// File: opserve/call_handle.h
//
// A call under way: the handle that every Start... function of the client returns.
//
//   opserve::Call<opserve::Tensor> y = client->StartExecute(call);
//   if (!y.WaitFor(absl::Milliseconds(20))) y.Cancel();
//   absl::StatusOr<opserve::Tensor> output = y.Wait();

#ifndef OPSERVE_CALL_HANDLE_H_
#define OPSERVE_CALL_HANDLE_H_

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

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
  Cancellation();
  ~Cancellation();

  // Runs the action of the moment, on this thread. No effect but the first time.
  void Cancel();
  bool is_cancelled() const;
  // From now on Cancel runs `action`, which replaces the one before; at once if it was called
  // already. Empty: there is nothing to be done.
  void OnCancel(std::function<void()> action);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// The end of a call, which comes once. What its thread did before is seen by those who waited.
// Thread-safe.
class CallEnd {
 public:
  CallEnd();
  ~CallEnd();

  // Lets it come, and runs what waits for it: to be called once.
  void Come();
  // Waits for at most `limit`. Returns whether it has come.
  bool WaitFor(absl::Duration limit) const;
  // Runs `action` when it comes, on the thread of Come; at once where it has come already.
  void Then(absl::AnyInvocable<void() &&> action);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// What the handles of a call share with who works on it. Thread-safe.
template <class T>
class CallState : public Cancellation {
 public:
  // Ends the call: to be called once.
  void Finish(CallResult<T> result, const ExecutionInfo& info) {
    OnCancel(nullptr);
    result_ = std::move(result);
    info_ = info;
    end_.Come();
  }

  bool WaitFor(absl::Duration limit) const { return end_.WaitFor(limit); }

  void Then(CallCallback<T> callback) {
    end_.Then(
        [this, callback = std::move(callback)]() mutable { std::move(callback)(*result_, info_); });
  }

  // Only once the call is over; nothing changes them any more.
  const CallResult<T>& result() const { return *result_; }
  const ExecutionInfo& info() const { return info_; }

 private:
  std::optional<CallResult<T>> result_;
  ExecutionInfo info_;
  CallEnd end_;
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
  // block, since other started calls end there, too, or on this one if the call is over already.
  void Then(CallCallback<T> callback) const {
    const auto state = state_;  // the callback may give up this handle
    state->Then(std::move(callback));
  }

 private:
  std::shared_ptr<client_internal::CallState<T>> state_;
};

}  // namespace opserve

#endif  // OPSERVE_CALL_HANDLE_H_
