// File: server/wire/received_message.h
//
// A message with payloads (repeated field 16) as gRPC received it: a parsed header, and payloads
// that stay where they are until a device needs them.

#ifndef OPSERVE_SERVER_WIRE_RECEIVED_MESSAGE_H_
#define OPSERVE_SERVER_WIRE_RECEIVED_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/base/host_buffers.h"
#include "proto/wire/message_split.h"
#include "server/wire/payload_source.h"

namespace opserve {

// Most bytes of a request beside the contents of its payloads.
inline constexpr size_t kMaxRequestHeaderBytes = size_t{2} << 20;

// Not thread-safe.
class ReceivedMessage final : public PayloadSource {
 public:
  ReceivedMessage() = default;
  ReceivedMessage(const ReceivedMessage&) = delete;
  ReceivedMessage& operator=(const ReceivedMessage&) = delete;

  // Takes over the slices of `bytes`, which is empty afterwards, and parses all but the payloads
  // into `header`. INVALID_REQUEST where the bytes are no message of its type, or one whose header
  // is larger than kMaxRequestHeaderBytes; `header` then holds as much as was understood. To be
  // called once.
  absl::Status Read(grpc::ByteBuffer& bytes, google::protobuf::Message& header);

  // Lengths of the payloads, in order.
  std::vector<uint64_t> payload_bytes() const;

  // Payloads are used where they are, at any alignment; only those in many small slices are
  // gathered into buffers of `pool`.
  std::vector<TensorBytes> Payloads(HostBufferPool& pool) override;
  OutgoingPayload Send(size_t payload, uint64_t bytes) override;

  // Where the payloads are, until Payloads is called.
  std::span<const ByteSlice> slices() const { return views_; }
  std::span<const PayloadPlace> places() const { return places_; }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSlice> views_;  // of slices_, which never moves: small slices hold their bytes
  std::vector<PayloadPlace> places_;
  // Of each payload, where it is in several pieces.
  std::vector<std::vector<ByteSlice>> pieces_;
  // Of each payload, where it was gathered.
  std::vector<HostBuffer> gathered_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_WIRE_RECEIVED_MESSAGE_H_
