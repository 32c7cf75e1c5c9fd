#include "server/message_bytes.h"

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "server/errors.h"

namespace opserve {

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  // The buffer belongs to the call and nobody else reads it; gRPC only lends it as const.
  auto* const buffer = const_cast<grpc::ByteBuffer*>(&bytes);
  if (grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(buffer, &message)
          .ok()) {
    return absl::OkStatus();
  }
  return NoMessageError(message);
}

absl::Status NoMessageError(const google::protobuf::Message& message) {
  const Violation violation = {"", absl::StrCat("The bytes of the request are no message of type ",
                                                message.GetTypeName(), ".")};
  return MakeViolationError({&violation, 1}, "");
}

grpc::Status SerializeMessage(const google::protobuf::Message& message, grpc::ByteBuffer& bytes) {
  bool owned = false;
  return grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes,
                                                                                    &owned);
}

}  // namespace opserve
