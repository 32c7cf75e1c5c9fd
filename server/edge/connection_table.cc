#include "server/edge/connection_table.h"

#include <sys/socket.h>

#include <array>
#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "proto/base/mutex.h"

namespace opserve {
namespace {

// All zeros, so pages that no descriptor needs take no memory.
std::array<std::atomic<EdgeConnection*>, kMaxDescriptor> slots;

struct OwnedConnections {
  Mutex mutex;
  absl::flat_hash_map<int, std::shared_ptr<EdgeConnection>> by_fd ABSL_GUARDED_BY(mutex);
};

// Never destroyed: gRPC's threads may read until the process ends.
OwnedConnections& Owned() {
  static auto* const owned = new OwnedConnections;
  return *owned;
}

}  // namespace

void PutConnection(int fd, std::shared_ptr<EdgeConnection> connection) {
  EdgeConnection* const raw = connection.get();
  std::shared_ptr<EdgeConnection> old;
  {
    MutexLock lock(Owned().mutex);
    old = std::exchange(Owned().by_fd[fd], std::move(connection));
  }
  slots[static_cast<size_t>(fd)].store(raw, std::memory_order_release);
}

std::shared_ptr<EdgeConnection> ConnectionOf(int fd) {
  MutexLock lock(Owned().mutex);
  const auto found = Owned().by_fd.find(fd);
  return found == Owned().by_fd.end() ? nullptr : found->second;
}

EdgeConnection* FindConnection(int fd) {
  if (fd < 0 || fd >= kMaxDescriptor) return nullptr;
  return slots[static_cast<size_t>(fd)].load(std::memory_order_acquire);
}

uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

}  // namespace opserve
