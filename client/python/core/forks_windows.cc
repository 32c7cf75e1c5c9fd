#include "client/python/core/forks.h"

namespace opserve::python {

// Windows forks no processes.

void NoteUse() {}

void WatchForks() {}

bool IsForked() { return false; }

void ThrowIfForked() {}

}  // namespace opserve::python
