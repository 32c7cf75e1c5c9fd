// File: proto/transport/loopback_tuning.h
//
// Connections within one machine, at their best. Shared by server and client.

#ifndef OPSERVE_PROTO_TRANSPORT_LOOPBACK_TUNING_H_
#define OPSERVE_PROTO_TRANSPORT_LOOPBACK_TUNING_H_

#include <string>

#include "grpcpp/support/channel_arguments.h"

namespace opserve {

// Whether loopback connections can be tuned with the gRPC that the program runs on: the means is no
// part of its interface and known for one version only.
bool CanTuneLoopback();

// `fd`, a TCP connection that was accepted from this very machine, uses CUBIC for what is sent,
// where the kernel has it: BBR, which many systems set as default, paces what needs no pacing. All
// other sockets stay as they are. Thread-safe.
void TuneAcceptedLoopback(int fd);

// The same for all connections that a gRPC server accepts by itself. Does nothing where
// CanTuneLoopback() is false. Thread-safe.
void TuneServerLoopback(grpc::ChannelArguments& arguments);

// The same for what a client sends over its channel to `target`. Does nothing unless the target
// names this machine: "localhost:port", "127.x.x.x:port" or "[::1]:port".
void TuneClientLoopback(const std::string& target, grpc::ChannelArguments& arguments);

}  // namespace opserve

#endif  // OPSERVE_PROTO_TRANSPORT_LOOPBACK_TUNING_H_
