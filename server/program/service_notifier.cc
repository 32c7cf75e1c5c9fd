#include "server/program/service_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/packets/unique_fd.h"

namespace opserve {
namespace {

absl::string_view Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? absl::string_view() : absl::string_view(text);
}

// Unset where it is not for this process: children inherit the environment.
std::optional<std::chrono::microseconds> WatchdogOfEnvironment() {
  uint64_t pid = 0;
  const absl::string_view owner = Variable("WATCHDOG_PID");
  if (!owner.empty() &&
      (!absl::SimpleAtoi(owner, &pid) || pid != static_cast<uint64_t>(getpid()))) {
    return std::nullopt;
  }
  int64_t limit = 0;
  if (!absl::SimpleAtoi(Variable("WATCHDOG_USEC"), &limit) || limit <= 0) return std::nullopt;
  return std::chrono::microseconds(limit);
}

}  // namespace

ServiceNotifier ServiceNotifier::OfEnvironment() {
  return {std::string(Variable("NOTIFY_SOCKET")), WatchdogOfEnvironment()};
}

void ServiceNotifier::Reloading() const {
  // So that the manager knows which Ready belongs to it.
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  Send(absl::StrCat("RELOADING=1\nMONOTONIC_USEC=",
                    int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000));
}

void ServiceNotifier::Send(absl::string_view state) const {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  std::copy(socket_.begin(), socket_.end(), address.sun_path);
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace opserve
