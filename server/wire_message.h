// File: server/wire_message.h
//
// The bytes of messages whose payloads (field 16) are sent from where they are.

#ifndef OPSERVE_SERVER_WIRE_MESSAGE_H_
#define OPSERVE_SERVER_WIRE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"

namespace opserve {

// The number of the field that holds payloads, in every message that has any.
inline constexpr int kPayloadField = 16;

// Bytes to send.
struct OutgoingPayload {
  const std::byte* data = nullptr;
  uint64_t bytes = 0;
  // Keeps them alive and unchanged; given up once gRPC has sent them.
  std::shared_ptr<const void> owner = nullptr;
};

// The bytes that the generated code would make of `header`, which has no field numbered
// kPayloadField or above, with `payloads` in that field. They are not copied, unless there is just
// a small one. Payloads without bytes are left out. Stateless and safe to use from any thread.
grpc::ByteBuffer ComposeMessage(const google::protobuf::MessageLite& header,
                                std::span<const OutgoingPayload> payloads);

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_MESSAGE_H_
