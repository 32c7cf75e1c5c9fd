// File: client/python/core/bind_catalogue.h
//
// The catalogue of a server as objects of Python.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_BIND_CATALOGUE_H_
#define OPSERVE_CLIENT_PYTHON_CORE_BIND_CATALOGUE_H_

#include <nanobind/nanobind.h>

namespace opserve::python {

// Makes the classes of what Client::ListOperators returns known. Once, with the GIL held.
void BindCatalogue(nanobind::module_& module);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_BIND_CATALOGUE_H_
