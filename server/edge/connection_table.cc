#include "server/edge/connection_table.h"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/base/mutex.h"

namespace opserve {
namespace {

// All zeros, so pages that no descriptor needs take no memory.
std::array<std::atomic<EdgeConnection*>, kMaxDescriptor> slots;

struct OwnedConnections {
  Mutex mutex;
  absl::flat_hash_map<int, std::shared_ptr<EdgeConnection>> by_fd ABSL_GUARDED_BY(mutex);
  // Those of TCP by the address and the port of the client.
  absl::flat_hash_map<std::string, std::shared_ptr<EdgeConnection>> by_address
      ABSL_GUARDED_BY(mutex);
};

std::string AddressOf(const PeerIdentity& peer) {
  return absl::StrCat(peer.address, ":", peer.port);
}

// Never destroyed: gRPC's threads may read until the process ends.
OwnedConnections& Owned() {
  static auto* const owned = new OwnedConnections;
  return *owned;
}

}  // namespace

void PutConnection(int fd, std::shared_ptr<EdgeConnection> connection) {
  EdgeConnection* const raw = connection.get();
  raw->fd = fd;
  std::shared_ptr<EdgeConnection> old;
  {
    MutexLock lock(Owned().mutex);
    old = std::exchange(Owned().by_fd[fd], connection);
    auto& by_address = Owned().by_address;
    if (old != nullptr && old->peer.port != 0) {
      const auto found = by_address.find(AddressOf(old->peer));
      if (found != by_address.end() && found->second == old) by_address.erase(found);
    }
    if (raw->peer.port != 0) by_address[AddressOf(raw->peer)] = std::move(connection);
  }
  slots[static_cast<size_t>(fd)].store(raw, std::memory_order_release);
}

std::shared_ptr<EdgeConnection> ConnectionOf(int fd) {
  MutexLock lock(Owned().mutex);
  const auto found = Owned().by_fd.find(fd);
  return found == Owned().by_fd.end() ? nullptr : found->second;
}

std::shared_ptr<EdgeConnection> ConnectionOfPeer(absl::string_view peer) {
  int fd = -1;
  if (absl::ConsumePrefix(&peer, "fd:")) {
    return absl::SimpleAtoi(peer, &fd) ? ConnectionOf(fd) : nullptr;
  }
  std::string address;
  // Nearly all are these, and written as they are kept.
  if (!absl::ConsumePrefix(&peer, "ipv4:")) peer = address = AddressOf(IdentityOf(peer));
  MutexLock lock(Owned().mutex);
  const auto found = Owned().by_address.find(peer);
  return found == Owned().by_address.end() ? nullptr : found->second;
}

EdgeConnection* FindConnection(int fd) {
  if (fd < 0 || fd >= kMaxDescriptor) return nullptr;
  return slots[static_cast<size_t>(fd)].load(std::memory_order_acquire);
}

void Wake(const EdgeConnection& connection) {
  // As long as nothing else can be put in its place, gRPC polls no other by that number.
  MutexLock lock(Owned().mutex);
  const auto found = Owned().by_fd.find(connection.fd);
  if (found == Owned().by_fd.end() || found->second.get() != &connection) return;
  connection.poll_entry.Repeat(connection.fd);
}

void WakeAll(const ReadTurns::Connections& connections) {
  for (const auto& connection : connections) Wake(*connection);
}

uint64_t CookieOf(int fd) {
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

}  // namespace opserve
