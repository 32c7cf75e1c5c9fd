// File: server/metrics/http_listener.h
//
// A small HTTP server for pages that programs and people of the operator read. It is no part of the
// service: it has one thread, little memory, and knows GET and HEAD.

#ifndef OPSERVE_SERVER_METRICS_HTTP_LISTENER_H_
#define OPSERVE_SERVER_METRICS_HTTP_LISTENER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/packets/unique_fd.h"
#include "server/base/clock.h"
#include "server/edge/listen_address.h"
#include "server/edge/listening_socket.h"
#include "server/edge/peer_identity.h"
#include "server/edge/socket_calls.h"
#include "server/metrics/http_tls.h"

namespace opserve {

struct HttpLimits {
  // Connections at a time. With one more, the one that has been there for longest is closed: a
  // client that sends its request at once is answered, however many others only hold connections.
  size_t max_connections = 64;
  // Bytes of a request, its line and its headers.
  size_t max_request_bytes = 8 << 10;
  // Time that a connection may take, from its begin to the last byte of its answer.
  std::chrono::milliseconds time_limit = std::chrono::seconds(5);
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// Who sends a request, as the connection tells it.
struct HttpPeer {
  PeerIdentity peer;
  // The name in the client's certificate, which was verified; empty where there is none.
  std::string certificate;
  bool has_certificate = false;
};

// A request, whose views live until it is answered.
struct HttpRequest {
  // Such as "/metrics", without a query.
  absl::string_view path;
  const HttpPeer& sender;
  // The value of the header Authorization, and whether it is there.
  absl::string_view authorization = {};
  bool has_authorization = false;
  // It is there more than once.
  bool is_ambiguous = false;
};

// Makes the answer to a request in the listener's thread, which answers one request at a time.
using HttpHandler = std::function<HttpAnswer(const HttpRequest& request)>;

// Each connection has one request and one answer. Thread-safe, except for destruction, which ends
// all connections and waits for a handler that runs.
class HttpListener {
 public:
  // Listens, with the words of the operating system where that fails. `certificates`: for TLS on
  // all connections; nullptr: without. It is asked in the listener's thread. `socket_files`: who
  // may open the socket file, where the address is one.
  static absl::StatusOr<std::unique_ptr<HttpListener>> Start(
      const ListenAddress& address, const HttpLimits& limits, HttpHandler handler,
      HttpCertificateSource certificates = nullptr, const SocketFileAccess& socket_files = {});
  ~HttpListener();
  HttpListener(const HttpListener&) = delete;
  HttpListener& operator=(const HttpListener&) = delete;

  // Removes the socket file, if there is one, so that nobody finds it any more. Also done by
  // destruction. Not thread-safe.
  void RemoveSocketFile();

  // Where it listens, with the port that was picked.
  const ListenAddress& address() const { return listening_.address; }

 private:
  // What is done with a connection next.
  enum class Phase { kRead, kWrite, kDrain };
  struct Connection {
    ConnectionSocket socket;
    Clock::TimePoint time_limit;
    HttpPeer sender = {};
    // nullptr: without TLS.
    std::unique_ptr<TlsConnection> tls = {};
    Phase phase = Phase::kRead;
    // What has come of the request, and then what is left of the answer from `sent` on.
    std::string bytes = {};
    size_t sent = 0;
  };

  HttpListener(ListeningSockets listening, PollAlarm wake, const HttpLimits& limits,
               HttpHandler handler, std::unique_ptr<HttpTls> tls);

  void Serve();
  // Waits for something to happen, and does what it asks for. False once the listener is to end.
  bool ServeOnce();
  int PollTimeout(Clock::TimePoint now) const;
  void AcceptAll(int listener, Clock::TimePoint now);
  // Adds a connection, and does what can be done at once.
  void Add(UniqueFd socket, const sockaddr_storage& from, Clock::TimePoint now);
  // These return whether the connection goes on.
  bool Advance(Connection& connection);
  bool Read(Connection& connection);
  bool Write(Connection& connection);
  static bool Drain(Connection& connection);

  // The thread uses the sockets, and others the address, which does not change.
  ListeningSockets listening_;
  // Rung once the listener is to end.
  const PollAlarm wake_;
  const HttpLimits limits_;
  const HttpHandler handler_;
  // The thread's own; nullptr: without TLS.
  const std::unique_ptr<HttpTls> tls_;
  // The thread's own; the oldest first.
  std::list<Connection> connections_;
  // Nothing is accepted until then, because there were no descriptors.
  Clock::TimePoint accept_again_ = Clock::TimePoint::min();
  std::thread thread_;
};

// The whole answer to a request: its line and headers, with all line ends. Anything but GET and
// HEAD of HTTP/1.0 and 1.1 gets an error. `handler` may throw, which is an error of the server.
std::string AnswerHttp(absl::string_view request, const HttpPeer& sender,
                       const HttpHandler& handler);

}  // namespace opserve

#endif  // OPSERVE_SERVER_METRICS_HTTP_LISTENER_H_
