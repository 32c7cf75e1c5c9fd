#include "client/python/core/call_settings.h"

#include <nanobind/stl/string.h>

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

std::string TextOf(nb::handle value, const char* name) {
  std::string text;
  if (!nb::try_cast(value, text)) {
    throw BadArguments(name, absl::StrCat(nb::repr(value).c_str(), " is no string"));
  }
  return text;
}

template <class Enum, size_t kCount>
Enum ByName(nb::handle value, const char* name, const std::array<Enum, kCount>& all) {
  const std::string text = TextOf(value, name);
  std::string known;
  for (const Enum one : all) {
    if (absl::EqualsIgnoreCase(NameOf(one), text)) return one;
    absl::StrAppend(&known, known.empty() ? "" : ", ", NameOf(one));
  }
  throw BadArguments(name, absl::StrCat("'", text, "' is none of ", known));
}

void ReadSetting(const std::string& name, nb::handle value, CallSettings& settings) {
  if (name == "timeout") {
    if (!value.is_none()) settings.timeout = SecondsAsTime(value, "timeout");
  } else if (name == "dtype") {
    if (!value.is_none()) settings.data_type = DataTypeOf(value, "dtype");
  } else if (name == "device") {
    settings.device = DeviceByName(value);
  } else if (name == "priority") {
    settings.priority = ByName<CallPriority, 3>(
        value, "priority", {CallPriority::kLow, CallPriority::kNormal, CallPriority::kHigh});
  } else if (name == "verify") {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) throw nb::python_error();
    settings.verify = truth == 1;
  } else if (name == "feature_level") {
    settings.feature_level = TextOf(value, "feature_level");
  } else if (name == "request_id") {
    settings.request_id = TextOf(value, "request_id");
  } else if (name == "device_lease") {
    settings.device_lease = TextOf(value, "device_lease");
  } else {
    throw nb::type_error(absl::StrCat("got an unexpected keyword argument '", name, "'").c_str());
  }
}

}  // namespace

CallSettings ReadSettings(const nb::dict& keywords) {
  CallSettings settings;
  for (const auto& [name, value] : keywords) {
    ReadSetting(nb::cast<std::string>(name), value, settings);
  }
  return settings;
}

absl::Duration SecondsAsTime(nb::handle seconds, const char* name) {
  if (seconds.is_none()) return absl::InfiniteDuration();
  double number = 0;
  if (!nb::try_cast(seconds, number) || !(number >= 0)) {
    throw BadArguments(name, absl::StrCat(nb::repr(seconds).c_str(), " is no number of seconds"));
  }
  return absl::Seconds(number);
}

DevicePreference DeviceByName(nb::handle name) {
  return ByName<DevicePreference, 4>(name, "device",
                                     {DevicePreference::kDefault, DevicePreference::kAuto,
                                      DevicePreference::kGpu, DevicePreference::kCpu});
}

}  // namespace opserve::python
