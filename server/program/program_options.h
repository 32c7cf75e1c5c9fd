// File: server/program/program_options.h
//
// The command line and the configuration file of opserve-server.

#ifndef OPSERVE_SERVER_PROGRAM_PROGRAM_OPTIONS_H_
#define OPSERVE_SERVER_PROGRAM_PROGRAM_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

#include "server/base/log.h"
#include "server/program/gpu_options.h"
#include "server/service/server_options.h"

namespace opserve {

struct ProgramOptions {
  ServerOptions server;
  GpuOptions gpu;
  // Print the adapters of this machine instead of serving.
  bool list_devices = false;
  // Longest wait for accepted requests after SIGTERM or SIGINT.
  std::chrono::milliseconds drain_timeout = std::chrono::seconds(30);
  // Freed memory that the allocator keeps; see KeepHeap. 0: what it does by itself.
  uint64_t keep_heap_bytes = uint64_t{64} << 20;
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  // Written once the server serves, one address per line; empty: none.
  std::string ready_file;
};

// What the program does instead of serving: prints `text` and ends.
struct EarlyExit {
  int code = 0;  // 0: text for standard output; otherwise an error for standard error
  std::string text;
};

// Exit code of a command line or configuration file that makes no sense.
inline constexpr int kExitUsage = 2;

// Reads the command line and the configuration file it names. Flags win over the file.
std::variant<ProgramOptions, EarlyExit> ParseProgramOptions(int argc, const char* const* argv);

}  // namespace opserve

#endif  // OPSERVE_SERVER_PROGRAM_PROGRAM_OPTIONS_H_
