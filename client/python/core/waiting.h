// File: client/python/core/waiting.h
//
// Waiting for calls without the GIL, so that other threads of Python go on, and Ctrl-C ends it.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_WAITING_H_
#define OPSERVE_CLIENT_PYTHON_CORE_WAITING_H_

#include <nanobind/nanobind.h>

#include <algorithm>

#include "absl/time/time.h"
#include "client/python/core/errors.h"
#include "opserve/call_handle.h"

namespace opserve::python {

// What `function`, which may wait, returns. It runs without the GIL.
template <class Function>
auto WithoutGil(const Function& function) {
  const nanobind::gil_scoped_release released;
  return function();
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
      const nanobind::gil_scoped_release released;
      if (call.WaitFor(piece)) return true;
    }
    if (PyErr_CheckSignals() != 0) {
      nanobind::python_error raised;
      const nanobind::gil_scoped_release released;
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
