// File: client/python/core/forks.h
//
// Processes that were forked off one that had used the client library. gRPC's threads are not in
// them, and its sockets, and what it waits for them with, are the parent's as well: a call there,
// or a client's end, would reach into the parent's calls. So nothing of the library is used there,
// and nothing of it is deleted.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_FORKS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_FORKS_H_

#include <memory>

namespace opserve::python {

// The library is used in this process from now on. Throws as ThrowIfForked does.
void NoteUse();
// Has processes that are forked off this one know it, before anything else runs in them: objects
// that come to their end there may be of the client library. Once.
void WatchForks();

// Whether this process was forked off one that had used the library. From any thread.
bool IsForked();
// Throws Python's RuntimeError where it was. With the GIL.
void ThrowIfForked();

// Shares what is left alone in forked processes.
template <class T>
std::shared_ptr<T> SharedUnlessForked(std::unique_ptr<T> owned) {
  return std::shared_ptr<T>(owned.release(), [](T* last) {
    if (!IsForked()) delete last;
  });
}

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_FORKS_H_
