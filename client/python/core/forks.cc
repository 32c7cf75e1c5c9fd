#include "client/python/core/forks.h"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <atomic>

namespace opserve::python {
namespace {

std::atomic<bool> is_used = false;
std::atomic<bool> is_forked = false;

void NoteFork() {
  if (is_used) is_forked = true;
}

}  // namespace

void NoteUse() {
  ThrowIfForked();
  is_used = true;
}

// Python's own hooks would be too late: it runs those of others first.
void WatchForks() { pthread_atfork(nullptr, nullptr, &NoteFork); }

bool IsForked() { return is_forked; }

void ThrowIfForked() {
  if (!IsForked()) return;
  PyErr_SetString(PyExc_RuntimeError,
                  "this process was forked off one that had connected to a server before, and gRPC "
                  "does not work in it; start processes by multiprocessing's \"spawn\" or "
                  "\"forkserver\", or connect in the new processes only");
  throw nanobind::python_error();
}

}  // namespace opserve::python
