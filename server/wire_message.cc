#include "server/wire_message.h"

#include <string>
#include <vector>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace opserve {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kPayloadTag =
    WireFormatLite::MakeTag(kPayloadField, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

// What stands before a payload: the header, if it is the first one, and the payload's length.
grpc::Slice Prefix(const google::protobuf::MessageLite* header, uint64_t payload_bytes) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream out(&stream);
  if (header != nullptr) header->SerializeToCodedStream(&out);
  if (payload_bytes > 0) {
    out.WriteTag(kPayloadTag);
    out.WriteVarint64(payload_bytes);
  }
  out.Trim();
  return {text};
}

grpc::Slice SliceOf(const OutgoingPayload& payload) {
  using Share = std::shared_ptr<const void>;
  // gRPC takes memory that it will not change as if it would.
  return {const_cast<std::byte*>(payload.data), payload.bytes,
          [](void* owner) { delete static_cast<Share*>(owner); }, new Share(payload.owner)};
}

}  // namespace

grpc::ByteBuffer ComposeMessage(const google::protobuf::MessageLite& header,
                                std::span<const OutgoingPayload> payloads) {
  std::vector<grpc::Slice> slices;
  slices.reserve(2 * payloads.size() + 1);
  const google::protobuf::MessageLite* first = &header;
  for (const OutgoingPayload& payload : payloads) {
    if (payload.bytes == 0) continue;
    slices.push_back(Prefix(first, payload.bytes));
    slices.push_back(SliceOf(payload));
    first = nullptr;
  }
  if (first != nullptr) slices.push_back(Prefix(first, 0));
  return {slices.data(), slices.size()};
}

}  // namespace opserve
