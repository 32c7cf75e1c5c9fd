// File: client/python/core/holds.h
//
// References to Python's objects that belong to calls under way, which end on threads that do not
// have the GIL, and must not wait for it.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_HOLDS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_HOLDS_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace opserve::python {

// Keeps an object of Python, or its memory, where it is. The last copy must go with the GIL held.
using Hold = std::shared_ptr<void>;
using Holds = std::vector<Hold>;

// Keeps `object`.
Hold HoldObject(nanobind::object object);

// Gives up what `holds` keeps, soon: from any thread, without the GIL.
void GiveUpLater(Holds holds);

// Gives up what GiveUpLater took: with the GIL.
void GiveUpNow();

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_HOLDS_H_
