// File: client/python/core/waiting.h
//
// Waiting for calls without the GIL, so that other threads of Python go on, and Ctrl-C ends it.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_WAITING_H_
#define OPSERVE_CLIENT_PYTHON_CORE_WAITING_H_

#include <nanobind/nanobind.h>

#include <algorithm>
#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"
#include "opserve/call_handle.h"

namespace opserve::python {

// Gives the GIL up, and takes it again at its end. Where the interpreter has ended meanwhile, the
// thread stays there, as it does from Python 3.14 on: older ones end it by unwinding its stack,
// which a destructor does not survive.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      // Until the process is gone. Whoever leaves this handler aborts it.
      while (true) absl::SleepFor(absl::InfiniteDuration());
    }
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* const state_;
};

// What `function`, which may wait, returns. It runs without the GIL.
template <class Function>
auto WithoutGil(const Function& function) {
  const Released released;
  return function();
}

// Shares what waits when it is deleted: that is done without the GIL, though the last share must go
// with it. Left alone in forked processes.
template <class T>
std::shared_ptr<T> SharedWithoutGil(std::unique_ptr<T> owned) {
  return std::shared_ptr<T>(owned.release(), [](T* last) {
    if (!IsForked()) WithoutGil([last] { delete last; });
  });
}

// How long a signal of the operating system waits until Python's handler runs.
inline constexpr absl::Duration kSignalInterval = absl::Milliseconds(50);

// Waits for at most `limit`, without the GIL. Returns whether the call is over. Where a handler of
// signals raises, the call is cancelled and over before that goes on.
template <class T>
bool WaitFor(const opserve::Call<T>& call, absl::Duration limit) {
  // An event loop asks for results that are there.
  if (call.WaitFor(absl::ZeroDuration())) return true;
  while (true) {
    const absl::Duration piece = std::min(limit, kSignalInterval);
    {
      const Released released;
      if (call.WaitFor(piece)) return true;
    }
    if (PyErr_CheckSignals() != 0) {
      nanobind::python_error raised;
      const Released released;
      call.Cancel();
      call.WaitFor(absl::InfiniteDuration());
      throw raised;
    }
    limit -= piece;
    if (limit <= absl::ZeroDuration()) return false;
  }
}

// The call's result, as soon as it is there.
template <class T>
CallResult<T> WaitForResult(const opserve::Call<T>& call) {
  WaitFor(call, absl::InfiniteDuration());
  return call.Wait();
}

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_WAITING_H_
