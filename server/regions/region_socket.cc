#include "server/regions/region_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "opserve/v1/regions.pb.h"
#include "proto/base/named_thread.h"
#include "proto/packets/foreign_descriptors.h"
#include "server/base/accept_pause.h"
#include "server/errors/errors.h"

namespace opserve {
namespace {

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
absl::StatusOr<std::string> Register(RegionTable& table, const RegionOwner& owner,
                                     const std::optional<Peer>& peer,
                                     const v1::RegisterRegion& what, const Packet& packet) {
  if (!what.has_name()) return table.Add(owner, packet.descriptors.front(), what.bytes());
  if (!peer) return SegmentsOffError();
  const auto segment = OpenSegment(what.name(), *peer);
  if (!segment.ok()) return segment.status();
  return table.Add(owner, *segment, what.bytes(), RegionMemory::kSegment);
}

// The id of the region, if that is what the packet is about.
absl::StatusOr<std::string> Perform(RegionTable& table, const RegionOwner& owner,
                                    const std::optional<Peer>& peer, const Packet& packet) {
  if (packet.is_truncated) {
    return Malformed("", absl::StrCat("The packet has more than ", kMaxPacketBytes,
                                      " bytes, or more descriptors than one."));
  }
  if (packet.lacks_descriptors) {
    return MakeRetryableError(ErrorReason::REGION_QUOTA, "The server has no descriptor left.",
                              std::chrono::seconds(1));
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

absl::Status TooManyConnections(absl::string_view whose, size_t limit) {
  return MakeRetryableError(
      ErrorReason::REGION_QUOTA,
      absl::StrCat("There are as many connections", whose, " as there may be (", limit, ")."),
      std::chrono::seconds(1));
}

// How long to wait for events where something is to be done at `time`; -1: for ever.
int WaitMs(Clock::TimePoint now, Clock::TimePoint time) {
  if (time == Clock::kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - now).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

std::string AnswerRegionPacket(RegionTable& table, const RegionOwner& owner,
                               const std::optional<Peer>& peer, const Packet& packet) {
  return ResponseOf(Perform(table, owner, peer, packet));
}

absl::StatusOr<std::unique_ptr<RegionSocket>> RegionSocket::Start(
    const RegionSocketOptions& options, RegionTable& table, const Clock& clock) {
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) return absl::ErrnoToStatus(errno, "eventfd");
  auto listener = ListenForPackets(options.path, options.mode);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<RegionSocket>(
      new RegionSocket(options, table, clock, *std::move(listener), std::move(stop)));
}

RegionSocket::RegionSocket(const RegionSocketOptions& options, RegionTable& table,
                           const Clock& clock, UniqueFd listener, UniqueFd stop)
    : options_(options),
      table_(table),
      clock_(clock),
      listener_(std::move(listener)),
      file_(options.path),
      stop_(std::move(stop)) {
  thread_ = StartThread("regions", [this] { Serve(); });
}

RegionSocket::~RegionSocket() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  for (const Connection& connection : connections_) {
    table_.RemoveAll(connection.owner);
    DropUnread(connection.socket.get());
  }
}

void RegionSocket::Serve() {
  bool accepts = true;
  Clock::TimePoint next_end = Clock::kNever;
  std::vector<pollfd> polled;
  while (true) {
    polled = {{stop_.get(), POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}};
    for (const Connection& connection : connections_) {
      polled.push_back({connection.socket.get(), POLLIN, 0});
    }
    const int wait =
        accepts ? WaitMs(clock_.Now(), next_end) : static_cast<int>(kAcceptPause.count());
    if (poll(polled.data(), polled.size(), wait) < 0) continue;
    if (polled[0].revents != 0) return;
    // One packet of each in turn, so that none holds up the others for long.
    size_t i = 2;
    for (auto it = connections_.begin(); it != connections_.end(); ++i) {
      if (polled[i].revents == 0 || ServeOne(*it)) {
        ++it;
        continue;
      }
      table_.RemoveAll(it->owner);
      DropUnread(it->socket.get());
      it = connections_.erase(it);
    }
    // Newcomers get the places of those who end.
    EndIdle();
    accepts = polled[1].revents == 0 || Accept();
    next_end = EndIdle();
  }
}

Clock::TimePoint RegionSocket::EndIdle() {
  const Clock::TimePoint now = clock_.Now();
  Clock::TimePoint next = Clock::kNever;
  connections_.remove_if([&](const Connection& connection) {
    const Clock::TimePoint end = connection.last_use + options_.idle_limit;
    const bool is_idle = !table_.HasAny(connection.owner);
    if (is_idle && end > now) next = std::min(next, end);
    if (!is_idle || end > now) return false;
    DropUnread(connection.socket.get());
    return true;
  });
  return next;
}

bool RegionSocket::Accept() {
  UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return !NeedsAcceptPause(errno);
  std::optional<Peer> peer = PeerOf(socket);
  if (!peer) {
    DropUnread(socket.get());
    return true;
  }
  const auto of_user = static_cast<size_t>(std::count_if(
      connections_.begin(), connections_.end(),
      [&](const Connection& connection) { return connection.owner.user == peer->user; }));
  absl::Status status;
  if (of_user >= options_.max_connections_per_user) {
    status = TooManyConnections(" of this user", options_.max_connections_per_user);
  } else if (connections_.size() >= options_.max_connections) {
    status = TooManyConnections("", options_.max_connections);
  }
  if (!status.ok()) {
    SendPacket(socket, ResponseOf(status)).IgnoreError();
    DropUnread(socket.get());
    return true;
  }
  const RegionOwner owner = {++last_connection_, peer->user};
  if (!options_.takes_names) peer.reset();
  connections_.push_back({std::move(socket), owner, std::move(peer), clock_.Now()});
  return true;
}

bool RegionSocket::ServeOne(Connection& connection) {
  std::string answer;
  const bool had_any = table_.HasAny(connection.owner);
  {
    auto packet = ReceivePacket(connection.socket);
    if (!packet.ok()) return absl::IsUnavailable(packet.status());
    // Memory that came with the packet is closed before the answer can be seen.
    const absl::Status status =
        options_.may_use ? options_.may_use(connection.owner.user) : absl::OkStatus();
    if (options_.limit) options_.limit(connection.owner);
    answer = status.ok() ? AnswerRegionPacket(table_, connection.owner, connection.peer, *packet)
                         : ResponseOf(status);
    for (UniqueFd& descriptor : packet->descriptors) CloseForeign(std::move(descriptor));
  }
  // Packets by which there never is a region are no use of a place that others want.
  if (had_any || table_.HasAny(connection.owner)) connection.last_use = clock_.Now();
  return SendPacket(connection.socket, answer).ok();
}

}  // namespace opserve
