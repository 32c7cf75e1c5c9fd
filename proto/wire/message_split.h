// File: proto/wire/message_split.h
//
// Divides the bytes of a message into its header, which protobuf parses, and the places of its
// payloads, which nobody copies. Payloads may begin and end anywhere in the slices that gRPC
// received. All functions are stateless and safe to use from any thread.

#ifndef OPSERVE_PROTO_WIRE_MESSAGE_SPLIT_H_
#define OPSERVE_PROTO_WIRE_MESSAGE_SPLIT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace opserve {

// The number of the field that holds payloads, in every message that has any.
inline constexpr int kPayloadField = 16;

// A part of a message that lies in one piece.
using ByteSlice = std::span<const std::byte>;

// Where a payload lies: from byte `offset` of slice `slice` on, over as many slices as it takes.
struct PayloadPlace {
  size_t slice = 0;
  size_t offset = 0;
  uint64_t bytes = 0;
  bool operator==(const PayloadPlace&) const = default;
};

// A message in two parts.
struct SplitMessage {
  // All fields but the payloads, byte for byte and in their order: a message of its own.
  std::string header;
  // Every payload, in order.
  std::vector<PayloadPlace> payloads;
};

enum class SplitResult {
  kOk,
  kMalformed,       // protobuf's parser would refuse the message
  kHeaderTooLarge,  // more than `max_header_bytes` beside the contents of the payloads
};

// Splits the message whose bytes are `slices`, one after the other. Payloads are the fields of
// number `payload_field` that have a length. Where it returns kOk, the whole message is valid
// exactly if `out.header` is. Allocates no more than a small multiple of `max_header_bytes`,
// whatever lengths the message claims. `out` is of no use after an error.
SplitResult Split(std::span<const ByteSlice> slices, int payload_field, size_t max_header_bytes,
                  SplitMessage& out);

// The bytes of a payload that lies in one slice; nullptr where it does not.
const std::byte* InOnePiece(std::span<const ByteSlice> slices, const PayloadPlace& place);

// The parts of a payload, in order; none of them is empty.
std::vector<ByteSlice> PiecesOf(std::span<const ByteSlice> slices, const PayloadPlace& place);

// Copies a payload to `target`, which has room for place.bytes bytes.
void Gather(std::span<const ByteSlice> slices, const PayloadPlace& place, std::byte* target);

}  // namespace opserve

#endif  // OPSERVE_PROTO_WIRE_MESSAGE_SPLIT_H_
