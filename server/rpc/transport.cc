#include "server/rpc/transport.h"

#include <memory>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/server_builder_option.h"
#include "grpcpp/resource_quota.h"
#include "proto/transport/loopback_tuning.h"

namespace opserve {
namespace {

class LoopbackOption final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* arguments) override {
    TuneServerLoopback(*arguments);
  }
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*) override {}
};

}  // namespace

void SetUpTransport(const TransportLimits& limits, Logger& logger, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(limits.message_bytes));
  // Otherwise a client could begin any number of messages and end none of them.
  grpc::ResourceQuota quota("opserve-server");
  quota.Resize(limits.held_bytes);
  builder.SetResourceQuota(quota);
  // gRPC inflates a compressed message before it looks at the size, so a small one could fill the
  // memory. Tensors hardly compress: compressed requests are refused (UNIMPLEMENTED).
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  // Otherwise a second server on the same port would silently take half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Counters of every call that nobody can ask for.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.SetOption(std::make_unique<LoopbackOption>());
  if (!CanTuneLoopback()) {
    logger.Log(LogLevel::kDebug, "loopback connections are not tuned", {{"grpc", grpc::Version()}});
  }
}

}  // namespace opserve
