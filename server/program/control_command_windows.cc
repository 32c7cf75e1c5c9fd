#include <windows.h>

#include "server/program/control_command.h"
// After windows.h.
#include <tlhelp32.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "server/base/system_error.h"
#include "server/program/control_event.h"

namespace opserve {
namespace {

// The file of this program, without its folder.
std::string ProgramName() {
  std::string path(32 << 10, '\0');
  path.resize(GetModuleFileNameA(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return path.substr(path.find_last_of("\\/") + 1);
}

// The process ids of other programs of the same name.
std::vector<uint32_t> OtherServers() {
  std::vector<uint32_t> found;
  const HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
  if (snapshot == INVALID_HANDLE_VALUE) return found;
  const std::string own = ProgramName();
  PROCESSENTRY32 entry = {};
  entry.dwSize = sizeof(entry);
  for (BOOL is_there = Process32First(snapshot, &entry); is_there != 0;
       is_there = Process32Next(snapshot, &entry)) {
    if (entry.th32ProcessID != GetCurrentProcessId() &&
        absl::EqualsIgnoreCase(entry.szExeFile, own)) {
      found.push_back(entry.th32ProcessID);
    }
  }
  CloseHandle(snapshot);
  return found;
}

EarlyExit Usage(absl::string_view verb, absl::string_view why) {
  return {kExitUsage, absl::StrCat("opserve-server ", verb, ": ", why, "\n")};
}

EarlyExit SetControlEvent(absl::string_view verb, uint32_t process) {
  const std::string name = verb == "stop" ? StopEventName(process) : ReloadEventName(process);
  const HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, name.c_str());
  if (event == nullptr) {
    return Usage(verb, SystemError(GetLastError(),
                                   absl::StrCat("cannot reach a server with process id ", process))
                           .message());
  }
  SetEvent(event);
  CloseHandle(event);
  return {};
}

}  // namespace

bool IsControlCommand(int argc, const char* const* argv) {
  if (argc < 2) return false;
  const absl::string_view verb = argv[1];
  return verb == "stop" || verb == "reload";
}

EarlyExit RunControlCommand(int argc, const char* const* argv) {
  const absl::string_view verb = argv[1];
  uint32_t process = 0;
  if (argc > 3 || (argc == 3 && !absl::SimpleAtoi(argv[2], &process))) {
    return Usage(verb, "takes nothing but the process id of a server");
  }
  if (argc == 3) return SetControlEvent(verb, process);
  const std::vector<uint32_t> servers = OtherServers();
  if (servers.empty()) return Usage(verb, "no server runs on this machine");
  if (servers.size() == 1) return SetControlEvent(verb, servers.front());
  return Usage(verb, absl::StrCat("several servers run; name one of the process ids ",
                                  absl::StrJoin(servers, ", ")));
}

}  // namespace opserve
