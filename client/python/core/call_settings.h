// File: client/python/core/call_settings.h
//
// What a call may be told beside its tensors and attributes, as keyword arguments of its method.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_CALL_SETTINGS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_CALL_SETTINGS_H_

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "opserve/call.h"
#include "opserve/options.h"

namespace opserve::python {

// CallSettings of opserve/_operators.py.
struct CallSettings {
  std::optional<absl::Duration> timeout;
  DataType data_type = DataType::kUnknown;  // of the result
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  bool verify = false;
  std::string feature_level;
  std::string request_id;
  std::string device_lease;

  CallOptions options() const { return {.timeout = timeout}; }

  // Sets the members of the same names.
  template <class Call>  // OperatorCall, OperatorSequence
  void Apply(Call& call) const {
    call.device = device;
    call.priority = priority;
    call.verify = verify;
    call.feature_level = feature_level;
    call.request_id = request_id;
    call.device_lease = device_lease;
  }
};

// Throws a TypeError for keywords that there are not, and BadArguments for values.
CallSettings ReadSettings(const nanobind::dict& keywords);

// Seconds as a time; None and infinity: for ever.
absl::Duration SecondsAsTime(nanobind::handle seconds, const char* name);

// "auto", "gpu", "cpu", in upper or lower case.
DevicePreference DeviceByName(nanobind::handle name);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_CALL_SETTINGS_H_
