// File: client/python/core/errors.h
//
// Failures as exceptions of Python: what C++ returns as a status, Python raises as a subclass of
// opserve.Error. To be used with the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_ERRORS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_ERRORS_H_

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "opserve/errors.h"

namespace opserve::python {

// A status on its way to Python.
class StatusException : public std::exception {
 public:
  explicit StatusException(absl::Status status) : status_(std::move(status)) {}

  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return "a status that is not OK"; }

 private:
  absl::Status status_;
};

// Arguments that this library refuses before anything is sent.
class BadArguments : public std::exception {
 public:
  explicit BadArguments(std::vector<FieldViolation> violations)
      : violations_(std::move(violations)) {}
  // `field`: the name of the argument; `description`: what is wrong with it, and what is allowed.
  BadArguments(std::string field, std::string description)
      : BadArguments({{std::move(field), std::move(description)}}) {}

  const std::vector<FieldViolation>& violations() const { return violations_; }
  const char* what() const noexcept override { return "arguments that cannot be used"; }

 private:
  std::vector<FieldViolation> violations_;
};

// Throws a StatusException unless `status` is OK.
inline void ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) throw StatusException(status);
}
template <class T>
T ValueOrThrow(absl::StatusOr<T> result) {
  ThrowUnlessOk(result.status());
  return *std::move(result);
}

// Has nanobind raise the exceptions of opserve/_errors.py for those above.
void RegisterErrors();

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_ERRORS_H_
