#include "server/rpc/transport.h"

#include "grpcpp/grpcpp.h"
#include "grpcpp/resource_quota.h"

namespace opserve {
void SetUpTransport(const TransportLimits& limits, grpc::ServerBuilder& builder) {
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
  // Counters of every call that nobody can ask for.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

}  // namespace opserve
