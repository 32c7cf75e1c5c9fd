#include "client/python/core/leased_device.h"

#include <nanobind/stl/string.h>

#include <utility>

#include "client/python/core/call_settings.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"
#include "client/python/core/waiting.h"

namespace opserve::python {

namespace nb = nanobind;
using nb::literals::operator""_a;

LeasedDevice::LeasedDevice(std::shared_ptr<Client> client, const DeviceLeaseOptions& options,
                           absl::Duration limit)
    : client_(std::move(client)), lease_(SharedWithoutGil(client_->LeaseDevice(options))) {
  const opserve::Call<DeviceGrant> grant = lease_->grant();
  try {
    if (!WaitFor(grant, limit)) {
      PyErr_SetString(PyExc_TimeoutError, "the lease was not granted in time");
      throw nb::python_error();
    }
    grant_ = ValueOrThrow(grant.Wait());
  } catch (...) {
    Release();
    throw;
  }
}

LeasedDevice::~LeasedDevice() { Release(); }

bool LeasedDevice::is_ended() const {
  ThrowIfForked();
  return lease_ == nullptr || lease_->state() == DeviceLease::State::kEnded;
}

double LeasedDevice::Renew(nb::handle seconds) {
  ThrowIfForked();
  const absl::Duration time =
      seconds.is_none() ? absl::ZeroDuration() : SecondsAsTime(seconds, "seconds");
  // Another thread may release it meanwhile.
  const std::shared_ptr<DeviceLease> lease = lease_;
  if (lease == nullptr) throw BadArguments("lease", "it was released");
  return absl::ToDoubleSeconds(ValueOrThrow(WithoutGil([&] { return lease->Renew(time); })));
}

void LeasedDevice::Release() {
  if (lease_ == nullptr) return;
  const std::shared_ptr<DeviceLease> last = std::move(lease_);
  if (IsForked()) return;
  WithoutGil([&] {
    last->grant().Cancel();
    last->end().Cancel();
  });
}

void BindLeases(nb::module_& module) {
  nb::class_<LeasedDevice>(
      module, "DeviceLease",
      "A GPU for this program alone, until it is released, this object ends or its time is over.\n"
      "In a `with` block it is released with it.")
      .def_prop_ro("id", &LeasedDevice::id, "For the keyword `device_lease` of calls.")
      .def_prop_ro("device", &LeasedDevice::device, "The GPU, as the server lists its devices.")
      .def_prop_ro("seconds", &LeasedDevice::seconds, "For how long it was granted.")
      .def_prop_ro("ended", &LeasedDevice::is_ended, "Whether it is over.")
      .def("renew", &LeasedDevice::Renew, "seconds"_a.none() = nb::none(),
           nb::sig("def renew(self, seconds: float | None = None) -> float"),
           "Has it end so many seconds from now on, or as many as the server grants, and returns\n"
           "those. None: a minute.")
      .def("release", &LeasedDevice::Release, "Gives it back.")
      .def(
          "__enter__", [](const nb::object& self) { return self; },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](LeasedDevice& lease, const nb::args&) { lease.Release(); },
          nb::sig("def __exit__(self, *args: object) -> None"));
}

}  // namespace opserve::python
