// File: client/wire/message.h
//
// Messages as they travel: a header, which protobuf writes and reads, and payloads, which nobody
// copies on the way. See proto/wire/message_split.h for the bytes.

#ifndef OPSERVE_CLIENT_WIRE_MESSAGE_H_
#define OPSERVE_CLIENT_WIRE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/base/message_feed.h"
#include "client/wire/payload_hold.h"
#include "grpcpp/support/byte_buffer.h"
#include "opserve/place.h"
#include "proto/wire/message_split.h"

namespace opserve::client_internal {

// A message to send.
struct OutgoingMessage {
  // All fields but the payloads, serialized.
  std::string header;
  // The payloads, in order; memory of the caller.
  std::vector<std::span<const std::byte>> payloads = {};
  // Places that the header names, so that regions live as long as the message.
  std::vector<TensorPlace> places = {};
  // Address of the host that has what the message refers to; empty: any host will do.
  std::string host = {};
  // What fills memory that the header names while somebody waits for the answer; nullptr: all is
  // there. Of no use to whoever does not wait.
  std::shared_ptr<MessageFeed> feed = nullptr;
};

// Payloads of fewer bytes are copied when they are sent: cheaper than to lend them.
inline constexpr size_t kLeastLentBytes = size_t{16} << 10;

// At least as many bytes as Compose makes of `message`.
uint64_t MostBytes(const OutgoingMessage& message);

// The bytes that the generated code would make of `message`, whose payload field is repeated.
// Payloads of kLeastLentBytes and more are not copied but lent from `hold`.
grpc::ByteBuffer Compose(const OutgoingMessage& message, PayloadHold& hold);

// A message as gRPC received it. Not thread-safe.
class ResponseMessage {
 public:
  // A message without any field.
  ResponseMessage() = default;
  ResponseMessage(ResponseMessage&&) = default;
  ResponseMessage& operator=(ResponseMessage&&) = default;

  // Takes over the slices of `bytes`, which is empty afterwards. DATA_LOSS where they are no
  // message; nothing is left then.
  absl::Status Read(grpc::ByteBuffer& bytes);

  // All fields but the payloads, serialized. Only what protobuf makes of them tells whether the
  // whole message is valid.
  const std::string& header() const { return parts_.header; }

  // Payloads, and bytes of one of them.
  size_t payload_count() const { return parts_.payloads.size(); }
  uint64_t payload_bytes(size_t payload) const { return parts_.payloads[payload].bytes; }

  // Copies a payload to `target`, which has room for payload_bytes(payload) bytes.
  void CopyPayload(size_t payload, std::byte* target) const;

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSlice> views_;  // of slices_, which never move: small ones hold their bytes
  SplitMessage parts_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_WIRE_MESSAGE_H_
