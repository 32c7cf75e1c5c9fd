// File: server/wire/wire_message.h
//
// The bytes of messages whose payloads (their last field) stay where they are: those that are
// received in gRPC's slices, those that are sent in the memory of the result.

#ifndef OPSERVE_SERVER_WIRE_WIRE_MESSAGE_H_
#define OPSERVE_SERVER_WIRE_WIRE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "kernels/tensor_bytes.h"
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

// Most bytes of a request beside the contents of its payloads.
inline constexpr size_t kMaxRequestHeaderBytes = size_t{2} << 20;

// What a request of which `header` was made takes in memory beside its payloads, for as long as it
// is kept; `header_bytes`: of ReceivedMessage. Descriptors and attributes take little, and no place
// in the budget. Fields that nobody knows are held like others, and each takes many times its
// bytes.
uint64_t HeldByHeader(const google::protobuf::Message& header, size_t header_bytes);

// The payloads of a request. Those of a message (a repeated field, its last one) stay in the slices
// in which gRPC received them until a device needs them. Not thread-safe.
class ReceivedMessage {
 public:
  // No payloads, until Read finds some.
  ReceivedMessage() = default;
  // Payloads that are in buffers already, one in each.
  explicit ReceivedMessage(std::vector<HostBuffer> payloads) : gathered_(std::move(payloads)) {}

  // Takes over the slices of `bytes`, which is empty afterwards, put together where they are many
  // and small. Parses all but the payloads, which are in field `payload_field`, into `header`.
  // INVALID_REQUEST where the bytes are no message of its type, or one whose header is larger than
  // kMaxRequestHeaderBytes; `header` then holds as much as was understood. To be called once.
  // Throws std::bad_alloc.
  absl::Status Read(grpc::ByteBuffer& bytes, google::protobuf::Message& header,
                    int payload_field = kPayloadField);

  // Bytes of the message beside the contents of its payloads.
  size_t header_bytes() const { return header_bytes_; }

  // Lengths of the payloads of the message, in order.
  std::vector<uint64_t> payload_bytes() const;

  // The bytes of every payload, in order, at any alignment; only those in many small slices are
  // gathered, into buffers of `pool`. They stay where they are while this object or the one that it
  // is moved to lives, and as they are unless somebody writes there, which only this request may.
  // To be called once. Throws std::bad_alloc.
  std::vector<TensorBytes> Payloads(HostBufferPool& pool);

  // The first `bytes` bytes of a payload's memory, at least one, with what it holds now, to be
  // sent. After Payloads; once per payload.
  OutgoingPayload Send(size_t payload, uint64_t bytes);

  // Where the payloads are, until Payloads is called.
  std::span<const ByteSlice> slices() const { return views_; }
  std::span<const PayloadPlace> places() const { return places_; }

 private:
  std::vector<grpc::Slice> slices_;
  // The bytes of slices_, whose elements never move: small slices hold their bytes themselves.
  std::vector<ByteSlice> views_;
  std::vector<PayloadPlace> places_;
  size_t header_bytes_ = 0;
  // The pieces of each payload that lies in several.
  std::vector<std::vector<ByteSlice>> pieces_;
  // The buffer of each payload that was gathered, and nothing for the others.
  std::vector<HostBuffer> gathered_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_WIRE_MESSAGE_H_
