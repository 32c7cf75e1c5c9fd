#include <windows.h>

#include "server/program/service_host.h"
// After windows.h.
#include <io.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "proto/base/mutex.h"
#include "server/program/service_control.h"

namespace opserve {
namespace {

// How long the manager waits for the next word of a service that starts or stops.
constexpr DWORD kPatienceMs = 120'000;

// The manager calls functions, not objects.
struct Host {
  std::function<int()> run;
  int code = EXIT_SUCCESS;

  Mutex mutex;
  SERVICE_STATUS_HANDLE handle ABSL_GUARDED_BY(mutex) = nullptr;
  SERVICE_STATUS status ABSL_GUARDED_BY(mutex) = {};
  ServiceControls controls ABSL_GUARDED_BY(mutex);
  bool was_stopped ABSL_GUARDED_BY(mutex) = false;

  void Tell(DWORD state, int exit_code = EXIT_SUCCESS) {
    MutexLock lock(mutex);
    if (handle == nullptr) return;
    const bool is_moving = state == SERVICE_START_PENDING || state == SERVICE_STOP_PENDING;
    status.dwServiceType = SERVICE_WIN32_OWN_PROCESS;
    status.dwCurrentState = state;
    status.dwControlsAccepted =
        state == SERVICE_RUNNING
            ? SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN | SERVICE_ACCEPT_PARAMCHANGE
            : 0;
    status.dwWin32ExitCode = exit_code == EXIT_SUCCESS ? NO_ERROR : ERROR_SERVICE_SPECIFIC_ERROR;
    status.dwServiceSpecificExitCode = static_cast<DWORD>(exit_code);
    status.dwCheckPoint = is_moving ? status.dwCheckPoint + 1 : 0;
    status.dwWaitHint = is_moving ? kPatienceMs : 0;
    SetServiceStatus(handle, &status);
  }
};

// Never destroyed: the manager's threads may use it until the process ends.
Host& TheHost() {
  static Host* const host = new Host;
  return *host;
}

DWORD WINAPI OnControl(DWORD control, DWORD /*kind*/, void* /*data*/, void* /*context*/) {
  Host& host = TheHost();
  ServiceControls controls;
  const bool stops = control == SERVICE_CONTROL_STOP || control == SERVICE_CONTROL_SHUTDOWN;
  {
    MutexLock lock(host.mutex);
    host.was_stopped |= stops;
    controls = host.controls;
  }
  if (stops) {
    host.Tell(SERVICE_STOP_PENDING);
    if (controls.stop) controls.stop();
    return NO_ERROR;
  }
  if (control == SERVICE_CONTROL_PARAMCHANGE) {
    if (controls.reload) controls.reload();
    return NO_ERROR;
  }
  return control == SERVICE_CONTROL_INTERROGATE ? NO_ERROR : ERROR_CALL_NOT_IMPLEMENTED;
}

char no_name[] = "";

void WINAPI ServiceMain(DWORD /*count*/, char** /*arguments*/) {
  Host& host = TheHost();
  {
    MutexLock lock(host.mutex);
    // The name counts where several services share a process.
    host.handle = RegisterServiceCtrlHandlerExA(no_name, &OnControl, nullptr);
  }
  host.Tell(SERVICE_START_PENDING);
  host.code = host.run();
  host.Tell(SERVICE_STOPPED, host.code);
}

}  // namespace

void SetServiceControls(ServiceControls controls) {
  Host& host = TheHost();
  std::function<void()> stop;
  {
    MutexLock lock(host.mutex);
    if (host.was_stopped) stop = controls.stop;
    host.controls = std::move(controls);
  }
  if (stop) stop();
}

void ReportService(ServiceState state) {
  TheHost().Tell(state == ServiceState::kServing ? SERVICE_RUNNING : SERVICE_STOP_PENDING);
}

bool RouteServiceLog() {
  const char* const path = std::getenv("OPSERVE_SERVICE_LOG");
  if (path == nullptr || *path == '\0') return true;
  if (std::freopen(path, "ab", stderr) == nullptr) return false;
  // The log goes by Windows' own handle.
  return SetStdHandle(STD_ERROR_HANDLE,
                      reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stderr)))) != 0;
}

int RunHosted(const std::function<int()>& run) {
  Host& host = TheHost();
  host.run = run;
  const SERVICE_TABLE_ENTRYA services[] = {{no_name, &ServiceMain}, {nullptr, nullptr}};
  // Only the manager has a connection for it, and then it returns once the service has stopped.
  if (StartServiceCtrlDispatcherA(services) != 0) return host.code;
  return host.run();
}

void EndNow(int code) {
  TheHost().Tell(SERVICE_STOPPED, code);
  std::_Exit(code);
}

}  // namespace opserve
