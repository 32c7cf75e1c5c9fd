// File: server/program/control_event.h
//
// The events by which one program of Windows stops another that has no console: for files that are
// compiled for it alone.

#ifndef OPSERVE_SERVER_PROGRAM_CONTROL_EVENT_H_
#define OPSERVE_SERVER_PROGRAM_CONTROL_EVENT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace opserve {

// The name of the event that stops the server which has that process id, or has it read its files
// again. It is one of the machine, so that an administrator reaches a service; who may set it is
// what Windows gives to a new event: the server's user and administrators.
inline std::string StopEventName(uint32_t process) {
  return absl::StrCat("Global\\opserve-server-", process, "-stop");
}
inline std::string ReloadEventName(uint32_t process) {
  return absl::StrCat("Global\\opserve-server-", process, "-reload");
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_CONTROL_EVENT_H_
