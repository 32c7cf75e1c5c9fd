// File: client/python/core/completion_signal.h
//
// What tells an event loop of asyncio that calls are over.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_COMPLETION_SIGNAL_H_
#define OPSERVE_CLIENT_PYTHON_CORE_COMPLETION_SIGNAL_H_

namespace opserve::python {

// Set or not. Thread-safe; needs no GIL, but for descriptor().
class CompletionSignal {
 public:
  // Not set. Throws std::system_error where the process has no descriptor left.
  CompletionSignal();
  ~CompletionSignal();
  CompletionSignal(const CompletionSignal&) = delete;
  CompletionSignal& operator=(const CompletionSignal&) = delete;

  // A file descriptor that can be read while it is set. Throws Python's NotImplementedError on
  // Windows, where loops watch none.
  int descriptor() const;

  void Set() const;
  void Clear() const;

 private:
  const int descriptor_;
};

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_COMPLETION_SIGNAL_H_
