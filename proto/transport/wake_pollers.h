// File: proto/transport/wake_pollers.h
//
// Ends the wait of gRPC's own thread for sockets that are gone. A write that the socket does not
// take at once gets a thread that polls for 10 s at a time until some socket moves, and the end of
// gRPC waits for that thread: whoever gave the last client or server up would wait for it, too.

#ifndef OPSERVE_PROTO_TRANSPORT_WAKE_POLLERS_H_
#define OPSERVE_PROTO_TRANSPORT_WAKE_POLLERS_H_

namespace opserve {

// Keeps gRPC for as long as it lives, and wakes its thread before it gives gRPC up. To be made
// before what uses gRPC, and destroyed after it: so a member above those.
//
// It wakes by a socket of its own, which it has move a few times, and waits each time until gRPC
// has seen it, at most for a second: usually milliseconds in all. Where there is no descriptor left
// it does nothing. A thread of gRPC that gets no processor meanwhile is not woken: nobody can tell
// that it is about to poll.
class GrpcUse {
 public:
  GrpcUse();
  ~GrpcUse();
  GrpcUse(const GrpcUse&) = delete;
  GrpcUse& operator=(const GrpcUse&) = delete;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_TRANSPORT_WAKE_POLLERS_H_
