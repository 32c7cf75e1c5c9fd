// On Windows gRPC listens and accepts by itself: what the other edge stands on, epoll and symbols
// in front of a library's, is not there. docs/adr/0043-windows.md tells what that means.

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/edge/edge.h"

namespace opserve {
namespace {

// Calls that one connection may have at a time; gRPC refuses others.
constexpr int kMaxStreams = 2048;

// What of a stream's answers may wait for the socket, where gRPC's own choice is 64 KiB. Answers
// that wait go in one send, and a send costs more here than on Linux (docs/adr/0043-windows.md).
constexpr int kWriteBufferBytes = 256 << 10;

// See Edge. Has no thread.
class ListenerEdge final : public Edge {
 public:
  ListenerEdge(std::vector<ListenAddress> addresses, const EdgeOptions& options)
      : Edge(options), addresses_(std::move(addresses)) {}

  void AddTo(grpc::ServerBuilder& builder,
             std::shared_ptr<grpc::ServerCredentials> credentials) override {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                               static_cast<int>(options_.handshake_limit.count()));
    builder.AddChannelArgument(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kWriteBufferBytes);
    for (ListenAddress& address : addresses_) {
      builder.AddListeningPort(address.ToString(), credentials, &address.port);
    }
  }

  // gRPC accepts from its own start on.
  void Start(grpc::Server& /*server*/) override {}
  // The server's Shutdown closes its listeners.
  void StopAccepting() override {}
  // So do its connections end.
  void EndConnections(std::chrono::milliseconds /*grace*/) override {}
  void RemoveSocketFiles() override {}

  std::vector<ListenAddress> addresses() const override { return addresses_; }
  EdgeCounters counters() const override { return {}; }
  size_t TakeMostOpen() override { return 0; }

 private:
  // gRPC writes the ports that it picked.
  std::vector<ListenAddress> addresses_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Edge>> Edge::Listen(const std::vector<ListenAddress>& addresses,
                                                   const EdgeOptions& options, bool /*with_tls*/,
                                                   Logger& logger) {
  for (const ListenAddress& address : addresses) {
    // gRPC does not say why it cannot listen.
    const auto probe = ListenAt(address);
    if (!probe.ok()) {
      return absl::Status(
          probe.status().code(),
          absl::StrCat("cannot listen on ", address.ToString(), ": ", probe.status().message()));
    }
  }
  logger.Log(LogLevel::kWarn, "connections are not limited",
             {{"reason", "on Windows gRPC accepts them by itself"}});
  return std::make_unique<ListenerEdge>(addresses, options);
}

}  // namespace opserve
