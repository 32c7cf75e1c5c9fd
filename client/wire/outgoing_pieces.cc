#include "client/wire/outgoing_pieces.h"

#include <algorithm>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::client_internal {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

static_assert(kPayloadField == v1::ExecuteStreamRequest::kPayloadsFieldNumber &&
              kPayloadField == v1::ExecuteStreamResponse::kPayloadFieldNumber);

// Appends the field `request`, whose message is serialized already.
void AppendRequest(const std::string& request, std::string& header) {
  constexpr uint32_t kTag = WireFormatLite::MakeTag(v1::ExecuteStreamRequest::kRequestFieldNumber,
                                                    WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  uint8_t prefix[15];  // a tag and a length
  uint8_t* end = CodedOutputStream::WriteTagToArray(kTag, prefix);
  end = CodedOutputStream::WriteVarint64ToArray(request.size(), end);
  header.append(prefix, end);
  header += request;
}

}  // namespace

OutgoingPieces::OutgoingPieces(uint64_t id, OutgoingMessage request, uint64_t piece_bytes)
    : id_(id), request_(std::move(request)), piece_bytes_(piece_bytes) {
  for (const auto& payload : request_.payloads) bytes_ += payload.size();
  is_whole_ = bytes_ <= piece_bytes_;
}

std::string OutgoingPieces::Header() const {
  v1::ExecuteStreamRequest message;
  message.set_id(id_);
  if (has_begun_) return message.SerializeAsString();
  if (!is_whole_) {
    for (const auto& payload : request_.payloads) message.add_payload_bytes(payload.size());
  }
  std::string header = message.SerializeAsString();
  AppendRequest(request_.header, header);
  return header;
}

OutgoingMessage OutgoingPieces::Next() {
  OutgoingMessage message = {Header()};
  has_begun_ = true;
  if (is_whole_) {
    message.payloads = request_.payloads;
    next_ = request_.payloads.size();
    return message;
  }
  SkipComplete();
  for (uint64_t room = piece_bytes_; room > 0 && !is_complete(); SkipComplete()) {
    const auto rest = request_.payloads[next_].subspan(sent_);
    const auto piece = rest.first(std::min<uint64_t>(rest.size(), room));
    message.payloads.push_back(piece);
    room -= piece.size();
    sent_ += piece.size();
  }
  return message;
}

void OutgoingPieces::SkipComplete() {
  while (!is_complete() && sent_ == request_.payloads[next_].size()) {
    ++next_;
    sent_ = 0;
  }
}

OutgoingMessage MakeStreamCancel(uint64_t id) {
  v1::ExecuteStreamRequest message;
  message.set_id(id);
  message.set_cancel(true);
  return {message.SerializeAsString()};
}

}  // namespace opserve::client_internal
