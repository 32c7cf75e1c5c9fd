// Loops of asyncio watch no descriptors on Windows: a thread waits in CompletedCalls::WaitForMore.

#include <nanobind/nanobind.h>

#include "client/python/core/completion_signal.h"

namespace opserve::python {

CompletionSignal::CompletionSignal() : descriptor_(-1) {}

CompletionSignal::~CompletionSignal() = default;

int CompletionSignal::descriptor() const {
  PyErr_SetString(PyExc_NotImplementedError, "event loops watch no descriptors on Windows");
  throw nanobind::python_error();
}

void CompletionSignal::Set() const {}

void CompletionSignal::Clear() const {}

}  // namespace opserve::python
