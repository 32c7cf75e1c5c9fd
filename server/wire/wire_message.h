// File: server/wire/wire_message.h
//
// The bytes of messages whose payloads (their last field) are sent from where they are.

#ifndef OPSERVE_SERVER_WIRE_WIRE_MESSAGE_H_
#define OPSERVE_SERVER_WIRE_WIRE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "proto/base/host_buffers.h"
#include "proto/wire/message_split.h"

namespace opserve {

// Bytes to send, in one piece or in slices.
struct OutgoingPayload {
  // The first `bytes` bytes of a buffer.
  static OutgoingPayload From(HostBuffer buffer, uint64_t bytes);

  // `part_bytes` bytes from `offset` on, of as many as there are; shares the memory.
  OutgoingPayload Part(uint64_t offset, uint64_t part_bytes) const;

  // nullptr where they are in slices.
  const std::byte* data = nullptr;
  uint64_t bytes = 0;
  // Keeps `data` alive and unchanged; given up once gRPC has sent them.
  std::shared_ptr<const void> owner = nullptr;
  std::vector<grpc::Slice> slices = {};
};

// `bytes` bytes of slices from `offset` on, of as many as there are; shares the memory.
OutgoingPayload PartOf(std::span<const grpc::Slice> slices, uint64_t offset, uint64_t bytes);

// The bytes that the generated code would make of `header`, which has no field numbered
// `payload_field` or above, with `payloads` in that field. They are not copied, unless there is
// just a small one. Payloads without bytes are left out. Stateless and safe to use from any thread.
grpc::ByteBuffer ComposeMessage(const google::protobuf::MessageLite& header,
                                std::span<const OutgoingPayload> payloads,
                                int payload_field = kPayloadField);

// What stands before the `bytes` bytes of a message in field `field` of another.
grpc::Slice FieldPrefix(int field, uint64_t bytes);

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_WIRE_MESSAGE_H_
