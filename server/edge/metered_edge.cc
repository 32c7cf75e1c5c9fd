#include "server/edge/metered_edge.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_posix.h"
#include "proto/base/named_thread.h"
#include "proto/packets/foreign_descriptors.h"
#include "proto/transport/loopback_tuning.h"
#include "server/base/accept_pause.h"
#include "server/edge/descriptor_limit.h"
#include "server/edge/received_bytes.h"
#include "server/edge/sent_bytes.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;

// How often silent connections are looked at.
constexpr milliseconds kTick{250};
// Connections accepted in a row, so that those that end are noticed in time.
constexpr int kMostAccepts = 64;
// Calls that one connection may have at a time; gRPC refuses others.
constexpr int kMaxStreams = 2048;
// So many connections of a client are ended for what they did before the client is kept out, ...
constexpr double kMisdeeds = 8;
// ... until this time has passed for one of them.
constexpr double kForgivenMisdeedsPerSecond = 1;
constexpr std::chrono::seconds kMisdeedsForgotten{16};
constexpr std::chrono::seconds kLogInterval{1};

EdgeOptions WithinLimits(EdgeOptions options) {
  options.max_connections = std::min(options.max_connections, ConnectionsWithinDescriptorLimit());
  if (options.max_connections_per_client == 0) {
    options.max_connections_per_client = std::max<size_t>(1, options.max_connections / 2);
  }
  return options;
}

bool PollFor(int poller, int operation, int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  return epoll_ctl(poller, operation, fd, &event) == 0;
}

bool IsOfSocketFile(const EdgeConnection& connection) {
  return connection.peer.transport == PeerTransport::kUnixSocket;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Edge>> Edge::Listen(const std::vector<ListenAddress>& addresses,
                                                   const EdgeOptions& options, bool with_tls,
                                                   Logger& logger) {
  if (!SeesReceivedBytes() || !SeesSentBytes() || !SeesPolling()) {
    return absl::InternalError(
        "gRPC does not call this program's recvmsg, SSL_read, epoll_ctl and epoll_wait");
  }
  auto edge = std::make_unique<MeteredEdge>(options, with_tls, logger);
  for (const ListenAddress& address : addresses) {
    if (absl::Status status = edge->AddAddress(address); !status.ok()) return status;
  }
  if (absl::Status status = edge->SetUp(); !status.ok()) return status;
  return edge;
}

absl::Status MeteredEdge::AddAddress(const ListenAddress& address) {
  auto listening = ListenAt(address, options_.socket_files);
  if (!listening.ok()) {
    return absl::Status(
        listening.status().code(),
        absl::StrCat("cannot listen on ", address.ToString(), ": ", listening.status().message()));
  }
  listening_.push_back(*std::move(listening));
  return absl::OkStatus();
}

MeteredEdge::MeteredEdge(const EdgeOptions& options, bool with_tls, Logger& logger)
    : Edge(WithinLimits(options)),
      with_tls_(with_tls),
      logger_(logger),
      refusals_(SteadyClock(), kLogInterval),
      ends_(SteadyClock(), kLogInterval) {}

absl::Status MeteredEdge::SetUp() {
  wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return absl::ErrnoToStatus(errno, "eventfd");
  poller_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!poller_) return absl::ErrnoToStatus(errno, "epoll_create1");
  bool is_polled = PollFor(poller_.get(), EPOLL_CTL_ADD, wake_.get(), EPOLLIN);
  for (const ListeningSockets& listening : listening_) {
    for (const UniqueFd& socket : listening.sockets) {
      is_polled &= PollFor(poller_.get(), EPOLL_CTL_ADD, socket.get(), EPOLLIN);
    }
  }
  return is_polled ? absl::OkStatus() : absl::ErrnoToStatus(errno, "epoll_ctl");
}

MeteredEdge::~MeteredEdge() {
  RemoveSocketFiles();
  if (!thread_.joinable()) return;
  is_over_ = true;
  eventfd_write(wake_.get(), 1);
  thread_.join();
  for (const Ended& ended : ended_) DropUnread(ended.duplicate.get());
  for (const auto& [fd, watched] : watched_) {
    if (IsOfSocketFile(*watched.connection)) DropUnread(watched.duplicate.get());
  }
}

void MeteredEdge::AddTo(grpc::ServerBuilder& builder,
                        std::shared_ptr<grpc::ServerCredentials> credentials) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options_.handshake_limit.count()));
  using Builder = grpc::ServerBuilder::experimental_type;
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      Builder::ExternalConnectionType::FROM_FD, std::move(credentials));
}

void MeteredEdge::Start(grpc::Server& server) {
  server_ = &server;
  thread_ = StartThread("edge", [this] { Serve(); });
}

void MeteredEdge::StopAccepting() {
  RemoveSocketFiles();
  if (!thread_.joinable() || is_stopping_.exchange(true)) return;
  eventfd_write(wake_.get(), 1);
  listeners_closed_.get_future().wait();
}

void MeteredEdge::EndConnections(milliseconds grace) {
  if (!thread_.joinable() || shut_ != Shut::kNo) return;
  shut_ = Shut::kWriting;
  eventfd_write(wake_.get(), 1);
  const auto limit = std::chrono::steady_clock::now() + grace;
  {
    MutexLock lock(mutex_);
    while (counters_.open > 0 && emptied_.WaitUntil(mutex_, limit)) continue;
  }
  shut_ = Shut::kAll;
  eventfd_write(wake_.get(), 1);
  connections_cut_.get_future().wait();
}

void MeteredEdge::RemoveSocketFiles() {
  for (ListeningSockets& listening : listening_) listening.file.Remove();
}

std::vector<ListenAddress> MeteredEdge::addresses() const {
  std::vector<ListenAddress> addresses;
  for (const ListeningSockets& listening : listening_) addresses.push_back(listening.address);
  return addresses;
}

EdgeCounters MeteredEdge::counters() const {
  MutexLock lock(mutex_);
  return counters_;
}

size_t MeteredEdge::TakeMostOpen() {
  MutexLock lock(mutex_);
  return std::exchange(most_open_, counters_.open);
}

void MeteredEdge::Serve() {
  while (!is_over_) {
    int timeout_ms = -1;
    if (!watched_.empty() || !clients_.empty()) timeout_ms = kTick.count();
    if (!ended_.empty()) timeout_ms = kTick.count();
    if (is_paused_) timeout_ms = kAcceptPause.count();
    OnEvents(timeout_ms);
    CloseEnded();
    if (is_stopping_ && accepts_) CloseListeners();
    ShutDownConnections();
    const Clock::TimePoint now = SteadyClock().Now();
    if (now < next_tick_) continue;
    next_tick_ = now + kTick;
    OnTick();
  }
}

void MeteredEdge::OnEvents(int timeout_ms) {
  std::array<epoll_event, 128> events;
  const int count = epoll_wait(poller_.get(), events.data(), events.size(), timeout_ms);
  // Connections that have ended make room for new ones.
  std::vector<int> listeners;
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    if (fd == wake_.get()) {
      eventfd_t value = 0;
      eventfd_read(wake_.get(), &value);
    } else if (watched_.contains(fd)) {
      EndConnection(fd);
    } else {
      listeners.push_back(fd);
    }
  }
  if (is_stopping_ || !accepts_) return;
  if (is_paused_) PollListeners(true);
  for (const int listener : listeners) AcceptSome(listener);
}

void MeteredEdge::AcceptSome(int listener) {
  for (int i = 0; i < kMostAccepts; ++i) {
    if (!AcceptOne(listener)) return;
  }
}

bool MeteredEdge::AcceptOne(int listener) {
  UniqueFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) {
    const bool is_unix = IsUnix(socket);
    if (is_unix) ReceiveAllInline(socket.get());
    TakeConnection(socket, listener);
    if (socket && is_unix) DropUnread(socket.get());
    return true;
  }
  if (NeedsAcceptPause(errno)) {
    PollListeners(false);
    Refuse("", CloseReason::kNotAccepted);
    return false;
  }
  return errno != EAGAIN;
}

void MeteredEdge::TakeConnection(UniqueFd& socket, int listener) {
  sockaddr_storage from = {};
  socklen_t length = sizeof(from);
  // Gone already.
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&from), &length) != 0) return;
  const bool is_unix = from.ss_family == AF_UNIX;
  PeerIdentity peer;
  if (is_unix) {
    auto identity = UnixPeerOf(socket.get());
    if (!identity) return;
    peer = *std::move(identity);
  } else {
    peer = TcpPeerOf(from);
    TuneAcceptedLoopback(socket.get());
  }
  std::string client = peer.Host();
  const Clock::TimePoint now = SteadyClock().Now();
  const CloseReason why_not = WhyNot(peer, client, now);
  if (why_not != CloseReason::kNone) return Refuse(client, why_not);
  UniqueFd duplicate(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  // It ends when both directions are shut, which gRPC does before it closes its own descriptor.
  if (!duplicate || socket.get() >= kMaxDescriptor ||
      !PollFor(poller_.get(), EPOLL_CTL_ADD, duplicate.get(), EPOLLHUP)) {
    return Refuse(client, CloseReason::kNotAccepted);
  }
  ClientShare& share =
      clients_.try_emplace(client, ClientShare{.misdeeds = {kMisdeeds, kForgivenMisdeedsPerSecond}})
          .first->second;
  ++share.connections;
  auto connection = std::make_shared<EdgeConnection>(std::move(peer), CookieOf(socket.get()),
                                                     with_tls_ && !is_unix, options_.frames,
                                                     share.traffic, turns_, receive_times_);
  WakeAll(turns_->SetClient(*connection, client));
  PutConnection(socket.get(), connection);
  const int key = duplicate.get();
  watched_[key] = {std::move(duplicate), std::move(connection), std::move(client), now};
  {
    MutexLock lock(mutex_);
    ++counters_.accepted;
    counters_.open = watched_.size();
    most_open_ = std::max(most_open_, counters_.open);
  }
  HandOver(std::move(socket), listener, is_unix);
}

CloseReason MeteredEdge::WhyNot(const PeerIdentity& peer, const std::string& client,
                                Clock::TimePoint now) {
  if (watched_.size() >= options_.max_connections) return CloseReason::kTooMany;
  const auto found = clients_.find(client);
  if (found == clients_.end()) return CloseReason::kNone;
  ClientShare& share = found->second;
  const std::optional<size_t> own =
      options_.connections_of ? options_.connections_of(peer) : std::nullopt;
  if (share.connections >= own.value_or(options_.max_connections_per_client)) {
    return CloseReason::kTooManyOfOne;
  }
  return share.misdeeds.has_any(now) ? CloseReason::kNone : CloseReason::kPenalty;
}

void MeteredEdge::HandOver(UniqueFd socket, int listener, bool is_unix) {
  if (is_unix) {
    // Without TLS, as the kernel proves who is there and nobody is on the way. So each has a name
    // of its own in gRPC, too; by way of the acceptor all are called "unix:".
    grpc::AddInsecureChannelFromFd(server_, socket.Release());
    return;
  }
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener;
  parameters.fd = socket.Release();
  acceptor_->HandleNewConnection(&parameters);
}

void MeteredEdge::Refuse(const std::string& client, CloseReason reason) {
  {
    MutexLock lock(mutex_);
    ++counters_.closed[static_cast<size_t>(reason)];
  }
  if (const auto not_logged = refusals_.Pass()) {
    logger_.Log(LogLevel::kWarn, "connection refused",
                {{"client", client}, {"reason", NameOf(reason)}, {"not_logged", *not_logged}});
  }
}

void MeteredEdge::CloseEnded() {
  ended_.remove_if([](const Ended& ended) {
    // gRPC may still read what came before the end.
    if (CookieOf(ended.connection->fd) == ended.connection->cookie) return false;
    DropUnread(ended.duplicate.get());
    return true;
  });
}

void MeteredEdge::OnTick() {
  const Clock::TimePoint now = SteadyClock().Now();
  for (auto& [fd, watched] : watched_) {
    if (watched.reason != CloseReason::kNone) continue;
    FrameMeter& meter = watched.connection->meter;
    watched.reason = meter.OnTick(now);
    if (!meter.has_begun() && now - watched.accepted > options_.handshake_limit) {
      watched.reason = CloseReason::kHandshake;
    }
    if (watched.reason != CloseReason::kNone) shutdown(fd, SHUT_RDWR);
  }
  WakeAll(turns_->OnTick(now));
  absl::erase_if(clients_, [now](const auto& client) {
    const ClientShare& share = client.second;
    return share.connections == 0 && now - kMisdeedsForgotten > share.last_misdeed;
  });
}

void MeteredEdge::EndConnection(int duplicate) {
  // gRPC may have its descriptor still, and with it the socket would stay polled.
  PollFor(poller_.get(), EPOLL_CTL_DEL, duplicate, 0);
  auto node = watched_.extract(duplicate);
  Watched& ended = node.mapped();
  const Clock::TimePoint now = SteadyClock().Now();
  FrameMeter& meter = ended.connection->meter;
  const CloseReason reason = ended.reason != CloseReason::kNone ? ended.reason : meter.OnTick(now);
  meter.Stop();
  WakeAll(turns_->Leave(*ended.connection));
  ClientShare& share = clients_.at(ended.client);
  --share.connections;
  if (reason > CloseReason::kHandshake) {
    share.misdeeds.Take(1, now);
    share.last_misdeed = now;
  }
  {
    MutexLock lock(mutex_);
    ++counters_.closed[static_cast<size_t>(reason)];
    counters_.open = watched_.size();
    if (watched_.empty()) emptied_.NotifyAll();
  }
  if (IsOfSocketFile(*ended.connection)) {
    ended_.push_back({std::move(ended.duplicate), ended.connection});
  }
  if (reason == CloseReason::kNone) return;
  if (const auto not_logged = ends_.Pass()) {
    logger_.Log(
        LogLevel::kWarn, "connection ended",
        {{"client", ended.client}, {"reason", NameOf(reason)}, {"not_logged", *not_logged}});
  }
}

void MeteredEdge::PollListeners(bool are_polled) {
  is_paused_ = !are_polled;
  for (const ListeningSockets& listening : listening_) {
    for (const UniqueFd& socket : listening.sockets) {
      PollFor(poller_.get(), EPOLL_CTL_MOD, socket.get(), are_polled ? uint32_t{EPOLLIN} : 0);
    }
  }
}

void MeteredEdge::CloseListeners() {
  accepts_ = false;
  for (ListeningSockets& listening : listening_) listening.sockets.clear();
  listeners_closed_.set_value();
}

void MeteredEdge::ShutDownConnections() {
  const Shut shut = shut_;
  if (shut == has_shut_) return;
  has_shut_ = shut;
  for (const auto& [fd, watched] : watched_) {
    shutdown(fd, shut == Shut::kAll ? SHUT_RDWR : SHUT_WR);
  }
  if (shut == Shut::kAll) connections_cut_.set_value();
}

}  // namespace opserve
