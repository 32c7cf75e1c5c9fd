#include <windows.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>

#include "proto/base/named_thread.h"
#include "server/program/control_event.h"
#include "server/program/service_control.h"
#include "server/program/signal_source.h"

namespace opserve {
namespace {

// What is waited for, in this order.
enum What : size_t { kEnd, kStop, kReload, kInterrupt, kTerminate, kCount };

// The console's handler is no object, so what it sets is the process's.
std::atomic<HANDLE> interrupted = nullptr;
std::atomic<HANDLE> terminated = nullptr;

HANDLE MakeEvent(const char* name) {
  // One that sets itself back once a thread has seen it.
  const HANDLE event = CreateEventA(nullptr, FALSE, FALSE, name);
  if (event == nullptr) {
    throw std::system_error(static_cast<int>(GetLastError()), std::system_category(),
                            "CreateEvent");
  }
  return event;
}

// Windows calls it in a thread of its own.
BOOL WINAPI OnConsole(DWORD kind) {
  if (kind == CTRL_C_EVENT || kind == CTRL_BREAK_EVENT) {
    SetEvent(interrupted);
    return TRUE;
  }
  SetEvent(terminated);
  // Windows ends the process as soon as the handler of these returns, and after some seconds
  // anyway.
  Sleep(INFINITE);
  return TRUE;
}

}  // namespace

struct SignalSource::Impl {
  explicit Impl(std::function<void(int)> what_to_do) : take(std::move(what_to_do)) {
    const uint32_t process = GetCurrentProcessId();
    events[kEnd] = MakeEvent(nullptr);
    events[kStop] = MakeEvent(StopEventName(process).c_str());
    events[kReload] = MakeEvent(ReloadEventName(process).c_str());
    events[kInterrupt] = MakeEvent(nullptr);
    events[kTerminate] = MakeEvent(nullptr);
    interrupted = events[kInterrupt];
    terminated = events[kTerminate];
    SetConsoleCtrlHandler(&OnConsole, TRUE);
    SetServiceControls({.stop = [event = events[kTerminate]] { SetEvent(event); },
                        .reload = [event = events[kReload]] { SetEvent(event); }});
    thread = StartThread("signals", [this] { Run(); });
  }

  ~Impl() {
    SetServiceControls({});
    SetConsoleCtrlHandler(&OnConsole, FALSE);
    SetEvent(events[kEnd]);
    thread.join();
    // What handlers that still run may set is there until the process ends.
    for (const What event : {kEnd, kStop}) CloseHandle(events[event]);
  }

  void Run() {
    while (true) {
      switch (WaitForMultipleObjects(kCount, events.data(), FALSE, INFINITE) - WAIT_OBJECT_0) {
        case kStop:
        case kTerminate:
          take(SIGTERM);
          break;
        case kReload:
          take(kReloadSignal);
          break;
        case kInterrupt:
          take(SIGINT);
          break;
        default:
          return;
      }
    }
  }

  const std::function<void(int)> take;
  std::array<HANDLE, kCount> events = {};
  std::thread thread;
};

SignalSource::SignalSource(std::function<void(int)> take)
    : impl_(std::make_unique<Impl>(std::move(take))) {}

SignalSource::~SignalSource() = default;

}  // namespace opserve
