// File: proto/base/named_thread.h
//
// Threads that `ps -T`, `top -H`, gdb and perf show by what they are for.

#ifndef OPSERVE_PROTO_BASE_NAMED_THREAD_H_
#define OPSERVE_PROTO_BASE_NAMED_THREAD_H_

#include <pthread.h>

#include <cstddef>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/string_view.h"

namespace opserve {

// The system keeps so many bytes of a name.
inline constexpr size_t kMaxThreadNameBytes = 15;

// Starts a thread that calls `run`. It names itself before that: `name`, or as much of its
// beginning as the system keeps. docs/ARCHITECTURE.md lists the names. Throws std::system_error
// where the system has no thread for it, as the constructor of std::thread does.
template <class Function>
std::thread StartThread(absl::string_view name, Function run) {
  return std::thread(
      [short_name = std::string(name.substr(0, kMaxThreadNameBytes)), run = std::move(run)] {
        pthread_setname_np(pthread_self(), short_name.c_str());
        run();
      });
}

}  // namespace opserve

#endif  // OPSERVE_PROTO_BASE_NAMED_THREAD_H_
