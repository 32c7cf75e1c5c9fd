#include "server/rpc/rpc_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace opserve {

using grpc::internal::RpcMethod;

RpcService::Method& RpcService::Add(const std::string& method, RpcMethod::RpcType type) {
  const int index = static_cast<int>(methods_.size());
  Method& added = methods_.emplace_back(
      Method{*this, absl::StrCat("/", name_, "/", method), index, nullptr, nullptr});
  // gRPC keeps the pointer to the name.
  AddMethod(new grpc::internal::RpcServiceMethod(added.path.c_str(), type, nullptr));
  MarkMethodRaw(index);
  return added;
}

void RpcService::AddUnary(const std::string& method, UnaryHandler handler) {
  Add(method, RpcMethod::NORMAL_RPC).handle = std::move(handler);
}

void RpcService::AddStream(const std::string& method, StreamHandlerFactory factory) {
  // What comes and goes on the wire is the same for all streams.
  Add(method, RpcMethod::BIDI_STREAMING).stream = std::move(factory);
}

void RpcService::Accept(Poller& poller) {
  for (Method& method : methods_) {
    if (method.handle != nullptr) {
      UnaryCall::Expect(method, poller);
    } else {
      StreamCall::Expect(method, poller);
    }
  }
}

}  // namespace opserve
