// File: server/program/service_control.h
//
// The server as a service of Windows: for files that are compiled for it alone.

#ifndef OPSERVE_SERVER_PROGRAM_SERVICE_CONTROL_H_
#define OPSERVE_SERVER_PROGRAM_SERVICE_CONTROL_H_

#include <functional>

namespace opserve {

// What the service manager asks for. Called in a thread of the manager's, and must not block.
struct ServiceControls {
  std::function<void()> stop = nullptr;
  std::function<void()> reload = nullptr;
};

// From now on these are called; a request to stop that came before is passed on at once.
// Thread-safe.
void SetServiceControls(ServiceControls controls);

// What a service tells its manager of itself.
enum class ServiceState { kServing, kStopping };

// Tells it; does nothing where the program is no service. Thread-safe.
void ReportService(ServiceState state);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_SERVICE_CONTROL_H_
