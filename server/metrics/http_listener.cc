#include "server/metrics/http_listener.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/base/named_thread.h"
#include "server/base/accept_pause.h"

namespace opserve {
namespace {

absl::string_view PhraseOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

std::string Compose(const HttpAnswer& answer, bool with_body = true) {
  return absl::StrCat(
      "HTTP/1.1 ", answer.status, " ", PhraseOf(answer.status), "\r\n",
      "Content-Type: ", answer.content_type, "\r\n", "Content-Length: ", answer.body.size(), "\r\n",
      answer.status == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
      answer.status == 405 ? "Allow: GET, HEAD\r\n" : "",
      "Connection: close\r\n"
      "Cache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "
      "'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'\r\n\r\n",
      with_body ? absl::string_view(answer.body) : absl::string_view());
}

HttpAnswer ErrorAnswer(int status) {
  return {.status = status, .body = absl::StrCat(PhraseOf(status), "\n")};
}

// Reads what the headers say of who sends the request. What follows them is none of it.
void ReadHeaders(absl::string_view text, HttpRequest& request) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || line == "\r") return;
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos ||
        !absl::EqualsIgnoreCase(line.substr(0, colon), "authorization")) {
      continue;
    }
    request.is_ambiguous |= request.has_authorization;
    request.has_authorization = true;
    request.authorization = absl::StripAsciiWhitespace(line.substr(colon + 1));
  }
}

// The user at the other end of a socket file.
PeerIdentity UserOf(int socket) {
  PeerIdentity unknown;
  unknown.transport = PeerTransport::kUnknown;
  return UnixPeerOf(socket).value_or(unknown);
}

}  // namespace

std::string AnswerHttp(absl::string_view request, const HttpPeer& sender,
                       const HttpHandler& handler) {
  const absl::string_view line = request.substr(0, request.find_first_of("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/")) return Compose(ErrorAnswer(400));
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") return Compose(ErrorAnswer(505));
  const bool is_head = words[0] == "HEAD";
  if (words[0] != "GET" && !is_head) return Compose(ErrorAnswer(405));
  if (!absl::StartsWith(words[1], "/")) return Compose(ErrorAnswer(400), !is_head);
  HttpRequest read = {.path = words[1].substr(0, words[1].find('?')), .sender = sender};
  const size_t line_end = request.find('\n');
  if (line_end != absl::string_view::npos) ReadHeaders(request.substr(line_end + 1), read);
  try {
    return Compose(handler(read), !is_head);
  } catch (const std::exception&) {
    return Compose(ErrorAnswer(500), !is_head);
  }
}

absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::Start(
    const ListenAddress& address, const HttpLimits& limits, HttpHandler handler,
    HttpCertificateSource certificates, const SocketFileAccess& socket_files) {
  auto listening = ListenAt(address, socket_files);
  if (!listening.ok()) return listening.status();
  auto wake = PollAlarm::Make();
  if (!wake.ok()) return wake.status();
  auto tls = certificates == nullptr ? nullptr : std::make_unique<HttpTls>(std::move(certificates));
  return std::unique_ptr<HttpListener>(new HttpListener(
      *std::move(listening), *std::move(wake), limits, std::move(handler), std::move(tls)));
}

HttpListener::HttpListener(ListeningSockets listening, PollAlarm wake, const HttpLimits& limits,
                           HttpHandler handler, std::unique_ptr<HttpTls> tls)
    : listening_(std::move(listening)),
      wake_(std::move(wake)),
      limits_(limits),
      handler_(std::move(handler)),
      tls_(std::move(tls)) {
  thread_ = StartThread("metrics", [this] { Serve(); });
}

HttpListener::~HttpListener() {
  wake_.Ring();
  thread_.join();
}

void HttpListener::RemoveSocketFile() { listening_.file.Remove(); }

void HttpListener::Serve() {
  while (true) {
    try {
      if (!ServeOnce()) return;
    } catch (const std::exception&) {
      // There was no memory. Connections are what takes it.
      connections_.clear();
    }
  }
}

bool HttpListener::ServeOnce() {
  const Clock::TimePoint now = SteadyClock().Now();
  connections_.remove_if([&](const Connection& c) { return c.time_limit <= now; });
  const size_t listeners = now < accept_again_ ? 0 : listening_.sockets.size();
  std::vector<pollfd> polled;
  polled.push_back(Polled(wake_.fd(), false));
  for (size_t i = 0; i < listeners; ++i) {
    polled.push_back(Polled(listening_.sockets[i].get(), false));
  }
  for (const Connection& connection : connections_) {
    const bool writes = connection.phase != Phase::kDrain && connection.tls != nullptr
                            ? connection.tls->wants_write()
                            : connection.phase == Phase::kWrite;
    polled.push_back(Polled(connection.socket.get(), writes));
  }
  if (WaitForSockets(polled, PollTimeout(now)) < 0) return true;
  if (polled[0].revents != 0) return false;
  // Those that have come before those that come, which may take their places.
  size_t next = 1 + listeners;
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    const bool goes_on = polled[next++].revents == 0 || Advance(*connection);
    connection = goes_on ? std::next(connection) : connections_.erase(connection);
  }
  // A wait may have been long, and the time of who comes after it begins with the end of it.
  const Clock::TimePoint after = SteadyClock().Now();
  for (size_t i = 0; i < listeners; ++i) {
    if (polled[1 + i].revents != 0) AcceptAll(listening_.sockets[i].get(), after);
  }
  return true;
}

int HttpListener::PollTimeout(Clock::TimePoint now) const {
  Clock::TimePoint next = Clock::kNever;
  if (now < accept_again_) next = accept_again_;
  // All have the same time, so the oldest is the next one.
  if (!connections_.empty()) next = std::min(next, connections_.front().time_limit);
  if (next == Clock::kNever) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now);
  return static_cast<int>(wait.count());
}

void HttpListener::AcceptAll(int listener, Clock::TimePoint now) {
  // Others are to get their turn.
  for (size_t i = 0; i < limits_.max_connections; ++i) {
    sockaddr_storage from = {};
    UniqueFd socket = AcceptNext(listener, from);
    if (!socket) {
      if (NeedsAcceptPause(errno)) accept_again_ = now + kAcceptPause;
      return;
    }
    Add(std::move(socket), from, now);
  }
}

void HttpListener::Add(UniqueFd socket, const sockaddr_storage& from, Clock::TimePoint now) {
  if (connections_.size() >= limits_.max_connections) connections_.pop_front();
  Connection connection = {.socket = ConnectionSocket(std::move(socket)),
                           .time_limit = now + limits_.time_limit};
  connection.sender.peer = address().is_unix() ? UserOf(connection.socket.get()) : TcpPeerOf(from);
  if (tls_ != nullptr) {
    connection.tls = tls_->Accept(connection.socket.get());
    if (connection.tls == nullptr) return;
  }
  connections_.push_back(std::move(connection));
  // What it sent is mostly there already.
  if (!Advance(connections_.back())) connections_.pop_back();
}

bool HttpListener::Advance(Connection& connection) {
  if (connection.phase == Phase::kRead && !Read(connection)) return false;
  if (connection.phase == Phase::kWrite && !Write(connection)) return false;
  return connection.phase != Phase::kDrain || Drain(connection);
}

bool HttpListener::Read(Connection& connection) {
  std::array<char, 2048> piece;
  std::string& bytes = connection.bytes;
  while (bytes.size() <= limits_.max_request_bytes) {
    const ssize_t got = connection.tls != nullptr
                            ? connection.tls->Read(piece.data(), piece.size())
                            : ReceiveBytes(connection.socket.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    bytes.append(piece.data(), static_cast<size_t>(got));
    if (absl::StrContains(bytes, "\r\n\r\n") || absl::StrContains(bytes, "\n\n")) {
      if (connection.tls != nullptr) {
        connection.sender.has_certificate = connection.tls->has_certificate();
        connection.sender.certificate = connection.tls->certificate_name();
      }
      bytes = AnswerHttp(bytes, connection.sender, handler_);
      connection.phase = Phase::kWrite;
      return true;
    }
  }
  bytes = Compose(ErrorAnswer(431));
  connection.phase = Phase::kWrite;
  return true;
}

bool HttpListener::Write(Connection& connection) {
  const std::string& bytes = connection.bytes;
  while (connection.sent < bytes.size()) {
    const char* const from = bytes.data() + connection.sent;
    const size_t left = bytes.size() - connection.sent;
    const ssize_t sent = connection.tls != nullptr
                             ? connection.tls->Write(from, left)
                             : SendBytes(connection.socket.get(), {from, left});
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return true;
    if (sent <= 0) return false;
    connection.sent += static_cast<size_t>(sent);
  }
  // To close while there is something to read would take the answer away from the client.
  if (connection.tls != nullptr) connection.tls->Finish();
  EndSending(connection.socket.get());
  connection.bytes = {};
  connection.phase = Phase::kDrain;
  return true;
}

bool HttpListener::Drain(Connection& connection) {
  std::array<char, 2048> piece;
  const ssize_t got = ReceiveBytes(connection.socket.get(), piece.data(), piece.size());
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace opserve
