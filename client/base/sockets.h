// File: client/base/sockets.h
//
// The sockets of a channel: how they are set up, and how to close them when they do not move any
// more. gRPC itself waits for what it is writing before it closes a connection.

#ifndef OPSERVE_CLIENT_BASE_SOCKETS_H_
#define OPSERVE_CLIENT_BASE_SOCKETS_H_

#include <sys/stat.h>

#include <memory>
#include <vector>

#include "grpcpp/support/channel_arguments.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// Thread-safe.
class Sockets {
 public:
  // Whether there are means to know sockets: the gRPC that the program runs on decides.
  static bool CanWatch();

  // Sockets of channels that are made with `arguments` are known to the result, if CanWatch. Where
  // the server is on this machine they use CUBIC: other congestion controls pace what no network
  // ever sees.
  static std::shared_ptr<Sockets> Watch(bool is_local, grpc::ChannelArguments& arguments);

  explicit Sockets(bool is_local) : is_local_(is_local) {}
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  // Sets a new socket up and remembers it.
  void Add(int fd);

  // Ends all connections at once: what waits to be written is dropped, calls fail with UNAVAILABLE,
  // and the channel connects anew for the next one.
  void ShutDown();

 private:
  // A descriptor and what it stood for: gRPC closes it without telling, and others reuse its
  // number.
  struct KnownSocket {
    int fd;
    dev_t device;
    ino_t inode;
  };
  static bool IsStill(const KnownSocket& socket, int fd);

  const bool is_local_;
  Mutex mutex_;
  std::vector<KnownSocket> sockets_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_BASE_SOCKETS_H_
