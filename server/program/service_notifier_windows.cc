#include "server/program/service_control.h"
#include "server/program/service_notifier.h"

namespace opserve {

// The manager's connection is the process's: service_host_windows.cc.
ServiceNotifier ServiceNotifier::OfEnvironment() { return {"", std::nullopt}; }

void ServiceNotifier::Reloading() const {}

void ServiceNotifier::Send(absl::string_view state) const {
  if (state == "READY=1") ReportService(ServiceState::kServing);
  if (state == "STOPPING=1") ReportService(ServiceState::kStopping);
}

}  // namespace opserve
