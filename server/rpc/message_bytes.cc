#include "server/rpc/message_bytes.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "server/errors/errors.h"

namespace opserve {

absl::Status ParseMessage(grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  if (grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(&bytes, &message)
          .ok()) {
    return absl::OkStatus();
  }
  return NoMessageError(message);
}

absl::Status NoMessageError(const google::protobuf::Message& message) {
  return MakeViolationError({"", absl::StrCat("The bytes of the request are no message of type ",
                                              message.GetTypeName(), ".")});
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.ByteSizeLong());
  // Nobody else has seen the slice yet.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return {&slice, 1};
}

}  // namespace opserve
