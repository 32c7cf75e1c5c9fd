// File: client/rpc/transport.h
//
// One attempt of an RPC, or one stream, whatever its method. Thread-safe. The gRPC transport
// implements it; tests script their own.

#ifndef OPSERVE_CLIENT_RPC_TRANSPORT_H_
#define OPSERVE_CLIENT_RPC_TRANSPORT_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/rpc/raw_stream.h"
#include "client/wire/message.h"
#include "opserve/call_handle.h"
#include "opserve/options.h"

namespace opserve::client_internal {

// An attempt that takes longer than `timeout` fails with DEADLINE_EXCEEDED; one whose response is
// no message, with DATA_LOSS. `method` is a full name such as "/opserve.v1.OperatorService/Execute"
// and lives as long as the transport.
class Transport {
 public:
  virtual ~Transport() = default;

  // When it returns, nothing refers to the payloads of `request` any more, whatever the outcome.
  // For that it may take a little longer than `timeout`.
  virtual absl::Status Call(const char* method, const OutgoingMessage& request,
                            absl::Duration timeout, ResponseMessage& response) = 0;

  // Calls `done` once, on a thread of the transport, or on this one before it returns. The messages
  // must live until then; nothing refers to the payloads of `request` from then on. A cancelled
  // attempt fails with CANCELLED, unless it is over; it sets what `cancellation` does, and leaves
  // it to its user to set something else afterwards.
  virtual void CallAsync(const char* method, const OutgoingMessage& request, absl::Duration timeout,
                         ResponseMessage& response, Cancellation& cancellation,
                         std::function<void(absl::Status)> done) = 0;

  // A stream of `method`, to be started, which fails with DEADLINE_EXCEEDED where it is not over
  // after `timeout`. It must be over before the transport goes.
  virtual std::unique_ptr<RawStream> OpenStream(const char* method, absl::Duration timeout) = 0;
};

// A transport over gRPC; connects with its first call. INVALID_ARGUMENT for a malformed target or
// options.
absl::StatusOr<std::unique_ptr<Transport>> MakeGrpcTransport(absl::string_view target,
                                                             const ClientOptions& options);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_TRANSPORT_H_
