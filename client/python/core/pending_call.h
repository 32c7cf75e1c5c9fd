// File: client/python/core/pending_call.h
//
// Calls under way as objects of Python, and the queue through which an event loop learns that they
// are over.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_PENDING_CALL_H_
#define OPSERVE_CLIENT_PYTHON_CORE_PENDING_CALL_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/python/core/completion_signal.h"
#include "client/python/core/holds.h"
#include "opserve/client.h"

namespace opserve::python {

// What is to become of a result.
struct ResultForm {
  nanobind::object out;    // returned in its place, where it was written to it
  bool is_single = false;  // an array of no dimensions
};

// A call under way. Needs the GIL, which it gives up while it waits.
class PendingCall {
 public:
  using Handle = std::variant<opserve::Call<Tensor>, opserve::Call<TensorSpec>,
                              opserve::Call<std::vector<SequenceResult>>>;

  // `forms`: one for each result of a sequence, else one.
  PendingCall(Handle handle, std::vector<ResultForm> forms)
      : handle_(std::move(handle)), forms_(std::move(forms)) {}

  // Waits for the result, the same each time: an array, or `out`; of a sequence a list of them.
  // Throws where the call failed, or Python's TimeoutError after `limit`, and the call goes on.
  nanobind::object Result(absl::Duration limit);
  bool IsDone() const;
  void Cancel() const;
  // Waits for the end of the call.
  ExecutionInfo Info() const;

 private:
  nanobind::object Take(const opserve::Call<Tensor>& call);
  nanobind::object Take(const opserve::Call<TensorSpec>& call);
  nanobind::object Take(const opserve::Call<std::vector<SequenceResult>>& call);

  const Handle handle_;
  std::vector<ResultForm> forms_;
  nanobind::object result_;
};

// Calls that are over and nobody has looked at yet, with a signal that is set while there are any.
// Threads of the client add to it without the GIL.
class CompletedCalls {
 public:
  const CompletionSignal& signal() const { return signal_; }

  // Adds a call that its user knows as `token`, and gives up what `holds` keeps. From any thread.
  void Add(Hold token, Holds holds);
  // Appends the tokens of calls that are over to `ended`, in the order in which they ended. With
  // the GIL.
  void Take(nanobind::list ended);
  // Waits until there are calls that it has not told of since the last Take. Returns false where
  // nobody will look any more. For one thread, without the GIL.
  bool WaitForMore();
  // Nobody will look any more. With the GIL.
  void Close();

 private:
  const CompletionSignal signal_;
  absl::Mutex mutex_;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_told_ ABSL_GUARDED_BY(mutex_) = false;
  Holds tokens_ ABSL_GUARDED_BY(mutex_);
  Holds holds_ ABSL_GUARDED_BY(mutex_);
};

// How the end of a call is told: to an event loop, or to nobody but who waits.
struct CompletionTarget {
  std::shared_ptr<CompletedCalls> calls;  // may be null
  Hold token;
};

// Keeps `holds` until `call` is over, then tells `target`.
template <class T>
void FollowCall(const opserve::Call<T>& call, Holds holds, CompletionTarget target) {
  call.Then([holds = std::move(holds), target = std::move(target)](const CallResult<T>&,
                                                                   const ExecutionInfo&) mutable {
    if (target.calls != nullptr) {
      target.calls->Add(std::move(target.token), std::move(holds));
    } else {
      GiveUpLater(std::move(holds));
    }
  });
}

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_PENDING_CALL_H_
