// File: client/rpc/transport.h
//
// One attempt of an RPC, or one stream, whatever its method. Thread-safe. The gRPC transport
// implements it; tests script their own.

#ifndef OPSERVE_CLIENT_RPC_TRANSPORT_H_
#define OPSERVE_CLIENT_RPC_TRANSPORT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/rpc/raw_stream.h"
#include "client/rpc/route.h"
#include "client/wire/message.h"
#include "opserve/call_handle.h"
#include "opserve/options.h"

namespace opserve::client_internal {

// An attempt that takes longer than `timeout` fails with DEADLINE_EXCEEDED; one whose response is
// no message, with DATA_LOSS. It goes to the host that the request names, or to one that `route`
// has not met, which is to live as long as the attempt and is judged where that fails. `method` is
// a full name such as "/opserve.v1.OperatorService/Execute" and lives as long as the transport.
class Transport {
 public:
  virtual ~Transport() = default;

  // When it returns, nothing refers to the payloads of `request` any more, whatever the outcome.
  // For that it may take a little longer than `timeout`. Feeds the request, if it has a feed, until
  // that is done or the attempt is over.
  virtual absl::Status Call(const char* method, const OutgoingMessage& request,
                            absl::Duration timeout, ResponseMessage& response, Route& route) = 0;

  // The same for a request without a feed. Calls `done` once, on a thread of the transport, or on
  // this one before it returns. The messages must live until then; nothing refers to the payloads
  // of `request` from then on. A cancelled attempt fails with CANCELLED, unless it is over; it sets
  // what `cancellation` does, and leaves it to its user to set something else afterwards.
  virtual void CallAsync(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                         ResponseMessage& response, Route& route, Cancellation& cancellation,
                         std::function<void(absl::Status)> done) = 0;

  // A stream of `method`, to be started, which fails with DEADLINE_EXCEEDED where it is not over
  // after `timeout`. It must be over before the transport goes. `host`: as OutgoingMessage::host.
  virtual std::unique_ptr<RawStream> OpenStream(const char* method, absl::Duration timeout,
                                                const std::string& host, Route& route) = 0;

  // Whether calls that name no host may go to one of several. The rest is of no use otherwise.
  virtual bool HasSeveralHosts() const { return false; }
  // Takes note that a server that answered an attempt to host number `number` calls itself `host`.
  virtual void LearnHost(size_t /*number*/, const std::string& /*host*/) {}
  // The address of a host of the target that is on this machine; empty: there is none.
  virtual std::string LocalHost() const { return {}; }
};

// A transport over gRPC; connects with its first call. INVALID_ARGUMENT for a malformed target or
// options.
absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(absl::string_view target,
                                                             const ClientOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_TRANSPORT_H_
