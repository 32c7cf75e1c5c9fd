// File: client/rpc/force_release.h
//
// How payloads come back from gRPC when the socket does not take them: the connection is shut down.
// Thread-safe.

#ifndef OPSERVE_CLIENT_RPC_FORCE_RELEASE_H_
#define OPSERVE_CLIENT_RPC_FORCE_RELEASE_H_

#include <memory>

#include "absl/time/time.h"
#include "client/rpc/connections.h"
#include "client/rpc/watchdog.h"
#include "client/wire/payload_hold.h"

namespace opserve::client_internal {

// How long gRPC may keep payloads beyond the deadline of their call, or after its end, until their
// connection is shut down.
inline constexpr absl::Duration kGrace = absl::Milliseconds(100);

// Waits for the release of payloads and does gRPC's work meanwhile: without a call in progress
// nobody else may be there to write what waits for the socket. Returns whether they are released.
bool WorkUntilReleased(PayloadHold& hold, absl::Duration limit);

// Shuts the connection down, since it does not move. Returns whether gRPC has released the
// payloads.
bool ForceRelease(PayloadHold& hold, const ClientConnection& connection);

// Does so after kGrace, and again until they are released. The connection must outlive that, as the
// watchdog does.
void ForceReleaseLater(Watchdog& watchdog, const std::shared_ptr<PayloadHold>& hold,
                       const ClientConnection& connection);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_FORCE_RELEASE_H_
