#include "client/python/core/errors.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

nb::object AsTuples(const std::vector<FieldViolation>& violations) {
  nb::list list;
  for (const FieldViolation& violation : violations) {
    list.append(nb::make_tuple(violation.field, violation.description));
  }
  return nb::tuple(list);
}

nb::object AsException(const absl::Status& status) {
  const std::optional<absl::Duration> delay = GetRetryDelay(status);
  nb::object seconds = nb::none();
  if (delay) seconds = nb::float_(absl::ToDoubleSeconds(*delay));
  return nb::module_::import_("opserve._errors")
      .attr("make_error")(absl::StatusCodeToString(status.code()).c_str(), Describe(status).c_str(),
                          GetErrorReason(status).c_str(), AsTuples(GetViolations(status)), seconds);
}

// In the words of a server that refuses a request.
nb::object AsException(const BadArguments& bad) {
  std::string text = "INVALID_ARGUMENT: The call cannot be sent. (INVALID_ARRAY)";
  for (const FieldViolation& violation : bad.violations()) {
    absl::StrAppend(&text, "\n  - ", violation.field, ": ", violation.description);
  }
  return nb::module_::import_("opserve._errors")
      .attr("make_error")("INVALID_ARGUMENT", text.c_str(), "INVALID_ARRAY",
                          AsTuples(bad.violations()), nb::none());
}

// Raises what `failure` is in Python. Making that runs code of Python's, and so handlers of signals
// that have come: what these raise goes on in its place.
template <class Failure>
void Raise(const Failure& failure) {
  try {
    const nb::object exception = AsException(failure);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (nb::python_error& raised) {
    raised.restore();
  }
}

void Translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const StatusException& exception) {
    Raise(exception.status());
  } catch (const BadArguments& bad) {
    Raise(bad);
  }
}

}  // namespace

void RegisterErrors() { nb::register_exception_translator(Translate); }

}  // namespace opserve::python
