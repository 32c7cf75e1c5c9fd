// File: client/rpc/wake_pollers.h
//
// Ends the wait of gRPC's own thread for sockets that are gone. A write that the socket does not
// take at once gets a thread that polls for 10 s at a time until some socket moves, and the end of
// gRPC waits for that thread: whoever gave the last client up would wait for it, too.

#ifndef OPSERVE_CLIENT_RPC_WAKE_POLLERS_H_
#define OPSERVE_CLIENT_RPC_WAKE_POLLERS_H_

namespace opserve::client_internal {

// Has a socket of its own move, and waits until gRPC has seen it, for a second at most. The
// channels that waited for their sockets must be gone by then, and gRPC must still be there. Where
// there is no descriptor left it does nothing. Thread-safe.
void WakePollers();

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_WAKE_POLLERS_H_
