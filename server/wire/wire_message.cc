#include "server/wire/wire_message.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpc/slice.h"
#include "server/rpc/completion_tag.h"

namespace opserve {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// What stands before a payload in `field`: the header, if it is the first one, and the payload's
// length.
grpc::Slice Prefix(const google::protobuf::MessageLite* header, int field, uint64_t payload_bytes) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream out(&stream);
  if (header != nullptr) header->SerializeToCodedStream(&out);
  if (payload_bytes > 0) {
    out.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out.WriteVarint64(payload_bytes);
  }
  out.Trim();
  return {text};
}

// What a slice keeps alive.
struct Share {
  explicit Share(std::shared_ptr<const void> payload_owner) : owner(std::move(payload_owner)) {
    hand_over.Give();
  }
  ~Share() { hand_over.Take(); }

  std::shared_ptr<const void> owner;
  HandOver hand_over;
};

grpc::Slice SliceOf(const OutgoingPayload& payload) {
  // gRPC takes memory that it will not change as if it would.
  return {const_cast<std::byte*>(payload.data), payload.bytes,
          [](void* owner) { delete static_cast<Share*>(owner); }, new Share(payload.owner)};
}

grpc::Slice SubSlice(const grpc::Slice& slice, size_t offset, size_t bytes) {
  grpc_slice whole = slice.c_slice();
  grpc::Slice part(grpc_slice_sub(whole, offset, offset + bytes), grpc::Slice::STEAL_REF);
  grpc_slice_unref(whole);
  return part;
}

// Up to this size a copy costs less than a slice of its own.
constexpr uint64_t kMostCopiedBytes = 8 << 10;

// Header and payload, one after the other.
grpc::Slice OneSlice(const google::protobuf::MessageLite& header, int field,
                     const OutgoingPayload& payload) {
  const size_t header_bytes = header.ByteSizeLong();
  uint8_t prefix[2 * 10];
  uint8_t* prefix_end =
      WireFormatLite::WriteTagToArray(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, prefix);
  prefix_end = CodedOutputStream::WriteVarint64ToArray(payload.bytes, prefix_end);
  const size_t prefix_bytes = prefix_end - prefix;
  grpc::Slice slice(header_bytes + prefix_bytes + payload.bytes);
  // Nobody else has seen the slice yet.
  auto* out = const_cast<uint8_t*>(slice.begin());
  out = header.SerializeWithCachedSizesToArray(out);
  std::memcpy(out, prefix, prefix_bytes);
  std::memcpy(out + prefix_bytes, payload.data, payload.bytes);
  return slice;
}

}  // namespace

OutgoingPayload OutgoingPayload::From(HostBuffer buffer, uint64_t bytes) {
  const std::byte* const data = buffer.data();
  return {.data = data, .bytes = bytes, .owner = std::make_shared<HostBuffer>(std::move(buffer))};
}

OutgoingPayload PartOf(std::span<const grpc::Slice> slices, uint64_t offset, uint64_t bytes) {
  OutgoingPayload part = {.bytes = bytes};
  for (const grpc::Slice& slice : slices) {
    if (bytes == 0) break;
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    const size_t count = std::min<uint64_t>(slice.size() - offset, bytes);
    part.slices.push_back(SubSlice(slice, offset, count));
    offset = 0;
    bytes -= count;
  }
  return part;
}

OutgoingPayload OutgoingPayload::Part(uint64_t offset, uint64_t part_bytes) const {
  if (data != nullptr) return {data + offset, part_bytes, owner};
  return PartOf(slices, offset, part_bytes);
}

grpc::ByteBuffer ComposeMessage(const google::protobuf::MessageLite& header,
                                std::span<const OutgoingPayload> payloads, int payload_field) {
  if (payloads.size() == 1 && payloads[0].data != nullptr && payloads[0].bytes > 0 &&
      payloads[0].bytes <= kMostCopiedBytes) {
    const grpc::Slice slice = OneSlice(header, payload_field, payloads[0]);
    return {&slice, 1};
  }
  std::vector<grpc::Slice> slices;
  slices.reserve(2 * payloads.size() + 1);
  const google::protobuf::MessageLite* first = &header;
  for (const OutgoingPayload& payload : payloads) {
    if (payload.bytes == 0) continue;
    slices.push_back(Prefix(first, payload_field, payload.bytes));
    if (payload.data != nullptr) {
      slices.push_back(SliceOf(payload));
    } else {
      slices.insert(slices.end(), payload.slices.begin(), payload.slices.end());
    }
    first = nullptr;
  }
  if (first != nullptr) slices.push_back(Prefix(first, payload_field, 0));
  return {slices.data(), slices.size()};
}

grpc::Slice FieldPrefix(int field, uint64_t bytes) { return Prefix(nullptr, field, bytes); }

}  // namespace opserve
