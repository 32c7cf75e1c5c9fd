#include "server/regions/region_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "opserve/v1/regions.pb.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

// How long new connections wait where the process has no descriptors left.
constexpr int kAcceptPauseMs = 100;

absl::Status Malformed(absl::string_view field, absl::string_view what) {
  return MakeViolationError({std::string(field), std::string(what)});
}

std::string ResponseOf(const absl::StatusOr<std::string>& region) {
  v1::RegionResponse response;
  if (region.ok()) {
    response.set_region(*region);
  } else {
    response.set_error(StatusDetails(region.status()));
  }
  return response.SerializeAsString();
}

// The id of the new region.
absl::StatusOr<std::string> Register(RegionTable& table, RegionTable::Owner owner,
                                     const std::optional<Peer>& peer,
                                     const v1::RegisterRegion& what, const Packet& packet) {
  if (!what.has_name()) return table.Add(owner, packet.descriptors.front(), what.bytes());
  if (!peer) {
    return MakeError(ErrorReason::POSIX_SHARED_MEMORY_OFF,
                     "This server takes no POSIX shared memory by name; the option "
                     "--posix-shared-memory allows it.");
  }
  const auto segment = OpenSegment(what.name(), *peer);
  if (!segment.ok()) return segment.status();
  return table.Add(owner, *segment, what.bytes(), RegionMemory::kSegment);
}

// The id of the region, if that is what the packet is about.
absl::StatusOr<std::string> Perform(RegionTable& table, RegionTable::Owner owner,
                                    const std::optional<Peer>& peer, const Packet& packet) {
  if (packet.is_truncated) {
    return Malformed("", absl::StrCat("The packet has more than ", kMaxPacketBytes,
                                      " bytes, or more descriptors than one."));
  }
  v1::RegionRequest request;
  if (!request.ParseFromString(packet.bytes)) {
    return Malformed("", "The bytes are no RegionRequest.");
  }
  const size_t needed = request.has_register_() && !request.register_().has_name() ? 1 : 0;
  if (packet.descriptors.size() != needed) {
    return Malformed("", absl::StrCat("The number of descriptors (", packet.descriptors.size(),
                                      ") is not ", needed, "."));
  }
  switch (request.action_case()) {
    case v1::RegionRequest::kRegister:
      return Register(table, owner, peer, request.register_(), packet);
    case v1::RegionRequest::kUnregister: {
      absl::Status status = table.Remove(owner, request.unregister().region());
      if (!status.ok()) return status;
      return request.unregister().region();
    }
    case v1::RegionRequest::ACTION_NOT_SET:
      break;
  }
  return Malformed("action", "The request asks for nothing.");
}

absl::Status TooManyConnections(size_t limit) {
  return MakeRetryableError(
      ErrorReason::REGION_QUOTA,
      absl::StrCat("There are as many connections as there may be (", limit, ")."),
      std::chrono::seconds(1));
}

}  // namespace

std::string AnswerRegionPacket(RegionTable& table, RegionTable::Owner owner,
                               const std::optional<Peer>& peer, const Packet& packet) {
  return ResponseOf(Perform(table, owner, peer, packet));
}

absl::StatusOr<std::unique_ptr<RegionSocket>> RegionSocket::Start(
    const RegionSocketOptions& options, RegionTable& table) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return absl::ErrnoToStatus(errno, "eventfd");
  auto listener = ListenForPackets(options.path, options.mode);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<RegionSocket>(
      new RegionSocket(options, table, *std::move(listener), std::move(stop)));
}

RegionSocket::RegionSocket(const RegionSocketOptions& options, RegionTable& table,
                           UniqueFd listener, UniqueFd stop)
    : options_(options),
      table_(table),
      listener_(std::move(listener)),
      stop_(std::move(stop)),
      thread_([this] { Serve(); }) {}

RegionSocket::~RegionSocket() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  for (const Connection& connection : connections_) table_.RemoveAll(connection.owner);
  unlink(options_.path.c_str());
}

void RegionSocket::Serve() {
  bool accepts = true;
  std::vector<pollfd> polled;
  while (true) {
    polled = {{stop_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      polled.push_back({connection.socket.get(), POLLIN, 0});
    }
    if (poll(polled.data(), polled.size(), accepts ? -1 : kAcceptPauseMs) < 0) continue;
    if (polled[0].revents != 0) return;
    // One packet of each in turn, so that none holds up the others for long.
    size_t i = 2;
    for (auto it = connections_.begin(); it != connections_.end(); ++i) {
      if (polled[i].revents == 0 || ServeOne(*it)) {
        ++it;
        continue;
      }
      table_.RemoveAll(it->owner);
      it = connections_.erase(it);
    }
    accepts = polled[1].revents == 0 || Accept();
  }
}

bool RegionSocket::Accept() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
  if (connections_.size() >= options_.max_connections) {
    SendPacket(socket, ResponseOf(TooManyConnections(options_.max_connections))).IgnoreError();
    return true;
  }
  std::optional<Peer> peer = options_.takes_names ? PeerOf(socket) : std::nullopt;
  connections_.push_back({std::move(socket), ++last_owner_, std::move(peer)});
  return true;
}

bool RegionSocket::ServeOne(const Connection& connection) {
  std::string answer;
  {
    const auto packet = ReceivePacket(connection.socket);
    if (!packet.ok()) return absl::IsUnavailable(packet.status());
    // What came with the packet is closed before the answer can be seen.
    answer = AnswerRegionPacket(table_, connection.owner, connection.peer, *packet);
  }
  return SendPacket(connection.socket, answer).ok();
}

}  // namespace opserve
