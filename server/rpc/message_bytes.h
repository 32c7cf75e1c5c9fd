// File: server/rpc/message_bytes.h
//
// Messages from and to the bytes that gRPC carries. Stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_RPC_MESSAGE_BYTES_H_
#define OPSERVE_SERVER_RPC_MESSAGE_BYTES_H_

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace opserve {

// Reads a message and releases the bytes, so that a request is not held twice. INVALID_REQUEST
// where they are no such message.
absl::Status ParseMessage(grpc::ByteBuffer& bytes, google::protobuf::Message& message);

// The error of bytes that are no message of this type: INVALID_REQUEST.
absl::Status NoMessageError(const google::protobuf::Message& message);

// Writes a message.
grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_MESSAGE_BYTES_H_
