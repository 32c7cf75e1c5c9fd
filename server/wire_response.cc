#include "server/wire_response.h"

#include <array>
#include <string>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace opserve {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr uint32_t kPayloadTag = WireFormatLite::MakeTag(v1::ExecuteResponse::kPayloadFieldNumber,
                                                         WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

grpc::Slice HeaderSlice(const v1::ExecuteResponse& header, uint64_t payload_bytes) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream out(&stream);
  header.SerializeToCodedStream(&out);
  // As in the generated code: an empty field is not written, and no field comes after this one.
  if (payload_bytes > 0) {
    out.WriteTag(kPayloadTag);
    out.WriteVarint64(payload_bytes);
  }
  out.Trim();
  return {text};
}

}  // namespace

grpc::ByteBuffer ComposeResponse(const v1::ExecuteResponse& header,
                                 std::unique_ptr<HostBuffer> payload, uint64_t payload_bytes) {
  std::array<grpc::Slice, 2> slices = {HeaderSlice(header, payload_bytes), grpc::Slice()};
  if (payload_bytes > 0) {
    HostBuffer* const owned = payload.release();
    slices[1] = grpc::Slice(
        owned->data(), payload_bytes, [](void* buffer) { delete static_cast<HostBuffer*>(buffer); },
        owned);
  }
  return {slices.data(), slices.size()};
}

}  // namespace opserve
