#include "client/python/core/holds.h"

#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace opserve::python {
namespace {

struct GivenUp {
  absl::Mutex mutex;
  Holds holds ABSL_GUARDED_BY(mutex);
  // So that whoever has the GIL usually need not lock.
  std::atomic<bool> any = false;
};

// Never destroyed: calls may end while the program does.
GivenUp& TheGivenUp() {
  static auto* const given_up = new GivenUp;
  return *given_up;
}

}  // namespace

Hold HoldObject(nanobind::object object) {
  PyObject* const kept = object.release().ptr();
  return Hold(kept, [](void* held) { Py_DECREF(static_cast<PyObject*>(held)); });
}

void GiveUpLater(Holds holds) {
  GivenUp& given_up = TheGivenUp();
  const absl::MutexLock lock(&given_up.mutex);
  for (Hold& hold : holds) given_up.holds.push_back(std::move(hold));
  given_up.any = true;
}

void GiveUpNow() {
  GivenUp& given_up = TheGivenUp();
  if (!given_up.any) return;
  // Objects that end run code of Python's, which may come here again.
  Holds holds;
  {
    const absl::MutexLock lock(&given_up.mutex);
    holds.swap(given_up.holds);
    given_up.any = false;
  }
}

}  // namespace opserve::python
