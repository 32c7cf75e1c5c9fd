// On Windows gRPC shows nobody its sockets: what waits to be written when a channel is given up is
// waited for.

#include "client/base/sockets.h"

namespace opserve::client_internal {

std::shared_ptr<Sockets> Sockets::Watch(bool is_local, grpc::ChannelArguments& /*arguments*/) {
  return std::make_shared<Sockets>(is_local);
}

bool Sockets::CanWatch() { return false; }

void Sockets::Add(int /*fd*/) {}

void Sockets::ShutDown() {}

}  // namespace opserve::client_internal
