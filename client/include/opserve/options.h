// File: opserve/options.h
//
// Settings of a client and of single calls. Plain structs; the defaults suit most programs.

#ifndef OPSERVE_OPTIONS_H_
#define OPSERVE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace opserve {

// When failed calls are tried again. Where the target has several hosts, the next attempt goes to
// one that the call has not met, at once. A call is retried only if its error is UNAVAILABLE or
// carries a delay of the server (GetRetryDelay in errors.h), which says that it did not run, or if
// another host may know an operator, feature level or method, or have a GPU or room for a message,
// that the one of the error lacks. Calls that work in place are not idempotent, and retried only
// where the server says that they did not run.
struct RetryPolicy {
  // Attempts in all, the first included; 1 never retries.
  int max_attempts = 5;
  // Wait before the second attempt, doubled before each further one, up to max_backoff. A longer
  // delay asked for by the server takes precedence.
  absl::Duration initial_backoff = absl::Milliseconds(50);
  absl::Duration max_backoff = absl::Seconds(5);
  // Part of the wait that is random, 0 to 1, so that clients do not come back all at once.
  double jitter = 0.3;
};

// Encryption of all connections but those over socket files, which servers have in plain text: the
// system tells them which user is there. All certificates are PEM text, not file names. What cannot
// be read fails Connect with INVALID_ARGUMENT and reason INVALID_OPTIONS (opserve/errors.h).
struct TlsOptions {
  // Authorities to trust; empty: those of the system.
  std::string root_certificates = {};
  // Certificate, with those between it and its authority after it, and its private key without a
  // password, to show to the server; empty: none. Both or neither.
  std::string client_certificate = {};
  std::string client_key = {};
  // Name that the server's certificate must carry, where it is not the target's host, such as when
  // the target is an address.
  std::string server_name = {};
};

// Settings of a Client.
struct ClientOptions {
  // Longest time to establish the connection. 0: Connect does not try, the first call does.
  absl::Duration connect_timeout = absl::Seconds(10);
  // Deadline of calls that set none, retries and waits included.
  absl::Duration default_timeout = absl::Seconds(60);
  RetryPolicy retry = {};
  // Unset: plain text.
  std::optional<TlsOptions> tls = {};
  // Sent as "authorization: Bearer ..." with each call: printable ASCII without spaces. Without TLS
  // Connect fails with TOKEN_NEEDS_TLS unless the target is a socket file, an address of the
  // loopback interface or localhost, so that the token never crosses a network in plain text.
  std::string bearer_token = {};
  // What this client calls itself, such as "nightly-conformance": at most 128 bytes of printable
  // ASCII without spaces at the ends. Sent with each call as "opserve-client". Where many requests
  // wait, the server takes turns between names, so that a flood of one does not hold up the others.
  // A name and no credential: the server believes it. Names count per host; empty: all clients of
  // this host that have no name are one.
  std::string client_name = {};
  // Largest message in bytes, in either direction; negative: no limit beyond the server's.
  int max_message_bytes = -1;
  // Connections to the server, 1 to 64. Each call takes the one with the fewest calls in flight, so
  // that large tensors of several threads do not wait for one another on one connection. Small
  // calls gain nothing from more than one.
  int channels = 1;
  // Memory of results that were given up is kept for the next ones, up to this many bytes: fresh
  // pages cost several times the copy into them. 0 keeps none.
  uint64_t idle_buffer_bytes = uint64_t{64} << 20;
  // A server on this machine gets large tensors of Execute and ExecuteInto through memory that the
  // client shares with it, and gives results back there, which is several times as fast as
  // messages. Most bytes of such memory, idle or in use by calls and by results that live; what
  // does not fit travels in messages, as does everything where the server shares no memory or the
  // target is no address of this machine. 0: never.
  uint64_t max_shared_bytes = uint64_t{256} << 20;
  // Interval of pings while calls are in flight, to notice a dead peer. gRPC servers refuse pings
  // more often than every 5 minutes unless they are configured for it.
  absl::Duration keepalive_time = absl::Minutes(6);
  absl::Duration keepalive_timeout = absl::Seconds(20);
};

// Settings of one call.
struct CallOptions {
  // Replaces ClientOptions::default_timeout; absl::InfiniteDuration() waits for ever.
  std::optional<absl::Duration> timeout = {};
  // Replaces ClientOptions::retry.
  std::optional<RetryPolicy> retry = {};
};

// Settings of an ExecuteStream.
struct StreamOptions {
  // Requests with more bytes of tensors travel in messages with so many, at least 1 KiB, and more
  // than 1 GiB counts as that; so tensors may be larger than the server's largest message, and
  // others need not wait for them.
  uint64_t piece_bytes = uint64_t{512} << 10;
  // Requests with more bytes of inputs than this that travel in messages with piece_bytes each are
  // computed while they are sent, where their operator, or each step of a sequence, computes each
  // element by itself and the tensors are packed, or are repeated over the result and small: the
  // server then holds no more than a window of them, and tensors may be larger than its memory. It
  // costs one round trip per request. UINT64_MAX: none are.
  uint64_t pipelined_from_bytes = uint64_t{4} << 20;
  // Most bytes of inputs that are sent and not answered. Requests beyond it wait at the client, in
  // order; one that alone has more goes when no other is under way. The server stops reading a
  // stream whose inputs and results exceed its own budget (--max-stream-bytes).
  uint64_t max_bytes_in_flight = uint64_t{128} << 20;
  // Time of each request from Submit to its answer. Unset: ClientOptions::default_timeout;
  // absl::InfiniteDuration() waits for ever.
  std::optional<absl::Duration> request_timeout = {};
  // Deadline of the stream as a whole, from OpenStream on, and so of all its requests.
  absl::Duration timeout = absl::InfiniteDuration();
  // How long the destructor waits for the requests under way before it gives them up.
  absl::Duration finish_timeout = absl::Seconds(10);
  // Address of the host that is to get the requests, because they refer to what it has: HostOf of
  // an id. Empty: any host of the target.
  std::string host = {};
};

}  // namespace opserve

#endif  // OPSERVE_OPTIONS_H_
