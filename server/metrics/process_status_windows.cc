#include <windows.h>

#include "server/metrics/process_status.h"
// After windows.h.
#include <psapi.h>
#include <tlhelp32.h>

namespace opserve {
namespace {

// Between 1601, from which Windows counts, and 1970.
constexpr double kSecondsBefore1970 = 11644473600;

double SecondsOf(const FILETIME& time) {
  return static_cast<double>(uint64_t{time.dwHighDateTime} << 32 | uint64_t{time.dwLowDateTime}) /
         1e7;
}

uint64_t CountThreads() {
  const HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
  if (snapshot == INVALID_HANDLE_VALUE) return 0;
  uint64_t count = 0;
  THREADENTRY32 entry = {};
  entry.dwSize = sizeof(entry);
  const DWORD own = GetCurrentProcessId();
  for (BOOL is_there = Thread32First(snapshot, &entry); is_there != 0;
       is_there = Thread32Next(snapshot, &entry)) {
    if (entry.th32OwnerProcessID == own) ++count;
  }
  CloseHandle(snapshot);
  return count;
}

}  // namespace

// There is no limit on handles, so `max_fds` stays 0.
ProcessStatus ReadProcessStatus() {
  ProcessStatus status;
  const HANDLE self = GetCurrentProcess();
  FILETIME created = {};
  FILETIME ended = {};
  FILETIME kernel = {};
  FILETIME user = {};
  if (GetProcessTimes(self, &created, &ended, &kernel, &user) != 0) {
    status.cpu_seconds = SecondsOf(kernel) + SecondsOf(user);
    status.start_time = SecondsOf(created) - kSecondsBefore1970;
  }
  PROCESS_MEMORY_COUNTERS memory = {};
  if (GetProcessMemoryInfo(self, &memory, sizeof(memory)) != 0) {
    status.resident_bytes = memory.WorkingSetSize;
    status.virtual_bytes = memory.PagefileUsage;
  }
  DWORD handles = 0;
  if (GetProcessHandleCount(self, &handles) != 0) status.open_fds = handles;
  status.threads = CountThreads();
  return status;
}

}  // namespace opserve
