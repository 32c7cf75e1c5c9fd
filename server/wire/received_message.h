// File: server/wire/received_message.h
//
// The payloads of a request. Those of a message (a repeated field, its last one) stay in the slices
// in which gRPC received them until a device needs them.

#ifndef OPSERVE_SERVER_WIRE_RECEIVED_MESSAGE_H_
#define OPSERVE_SERVER_WIRE_RECEIVED_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"
#include "kernels/tensor_bytes.h"
#include "proto/base/host_buffers.h"
#include "proto/wire/message_split.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Most bytes of a request beside the contents of its payloads.
inline constexpr size_t kMaxRequestHeaderBytes = size_t{2} << 20;

// Not thread-safe.
class ReceivedMessage {
 public:
  // No payloads, until Read finds some.
  ReceivedMessage() = default;
  // Payloads that are in buffers already, one in each.
  explicit ReceivedMessage(std::vector<HostBuffer> payloads) : gathered_(std::move(payloads)) {}

  // Takes over the slices of `bytes`, which is empty afterwards, and parses all but the payloads,
  // which are in field `payload_field`, into `header`. INVALID_REQUEST where the bytes are no
  // message of its type, or one whose header is larger than kMaxRequestHeaderBytes; `header` then
  // holds as much as was understood. To be called once.
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

#endif  // OPSERVE_SERVER_WIRE_RECEIVED_MESSAGE_H_
