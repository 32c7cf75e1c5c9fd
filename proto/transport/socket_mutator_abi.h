// File: proto/transport/socket_mutator_abi.h
//
// gRPC's socket mutator, which its libraries export and its installed headers lack. Copied from
// src/core/lib/iomgr/socket_mutator.h of gRPC 1.51.1; to be used with that version only.

#ifndef OPSERVE_PROTO_TRANSPORT_SOCKET_MUTATOR_ABI_H_
#define OPSERVE_PROTO_TRANSPORT_SOCKET_MUTATOR_ABI_H_

#include "grpc/support/sync.h"
#include "grpcpp/grpcpp.h"

// What a socket is for.
enum grpc_fd_usage {
  GRPC_FD_CLIENT_CONNECTION_USAGE,
  GRPC_FD_SERVER_LISTENER_USAGE,
  GRPC_FD_SERVER_CONNECTION_USAGE,
};

struct grpc_mutate_socket_info {
  int fd;
  grpc_fd_usage usage;
};

struct grpc_socket_mutator;

// `mutate_fd_2` is called where it is there, else `mutate_fd`; false makes the connection fail.
struct grpc_socket_mutator_vtable {
  bool (*mutate_fd)(int fd, grpc_socket_mutator* mutator);
  int (*compare)(grpc_socket_mutator* a, grpc_socket_mutator* b);
  void (*destroy)(grpc_socket_mutator* mutator);
  bool (*mutate_fd_2)(const grpc_mutate_socket_info* info, grpc_socket_mutator* mutator);
};

struct grpc_socket_mutator {
  const grpc_socket_mutator_vtable* vtable;
  gpr_refcount refcount;
};

// Gives the mutator a table and the first reference.
void grpc_socket_mutator_init(grpc_socket_mutator* mutator,
                              const grpc_socket_mutator_vtable* vtable);

namespace opserve {

// Whether the program runs on the gRPC that all this is copied from.
inline bool CanUseSocketMutators() {
  static const bool is_known = grpc::Version() == "1.51.1";
  return is_known;
}

}  // namespace opserve

#endif  // OPSERVE_PROTO_TRANSPORT_SOCKET_MUTATOR_ABI_H_
