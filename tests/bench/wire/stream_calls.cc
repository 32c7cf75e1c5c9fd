#include "tests/bench/wire/stream_calls.h"

#include "absl/strings/str_cat.h"
#include "opserve/v1/operator_service.pb.h"
#include "tests/bench/wire/calls.h"

namespace opserve::wire_bench {
namespace {

std::string RequestField(uint64_t payload_bytes) {
  v1::ExecuteStreamRequest message;
  *message.mutable_request() = RoundRequest(payload_bytes);
  return message.SerializeAsString();
}

}  // namespace

StreamCalls::StreamCalls(StreamUse use, const Payload& payload)
    : use_(use), payload_(payload), request_field_(RequestField(payload.size())) {}

std::string StreamCalls::method() const {
  return use_ == StreamUse::kEcho ? "/opserve.wire_bench.ChunkedEcho/Echo"
                                  : "/opserve.v1.OperatorService/ExecuteStream";
}

std::span<const uint8_t> StreamCalls::expected() const {
  return use_ == StreamUse::kEcho ? payload_.bytes() : payload_.expected();
}

grpc::ByteBuffer StreamCalls::Piece(uint64_t id, uint64_t first, uint64_t bytes) const {
  // Also that of an echo, which comes back as an answer.
  static_assert(static_cast<int>(v1::ExecuteStreamRequest::kPayloadsFieldNumber) ==
                static_cast<int>(v1::ExecuteStreamResponse::kPayloadFieldNumber));
  return WithPayload(HeaderOf(id, first), v1::ExecuteStreamRequest::kPayloadsFieldNumber,
                     payload_.bytes().subspan(first, bytes));
}

grpc::ByteBuffer StreamCalls::Offer(uint64_t id) const {
  v1::ExecuteStreamRequest message;
  message.set_id(id);
  message.mutable_pipeline()->add_payload_bytes(payload_.size());
  message.mutable_pipeline()->set_run_bytes(kPieceBytes);
  const grpc::Slice bytes(absl::StrCat(message.SerializeAsString(), request_field_));
  return grpc::ByteBuffer(&bytes, 1);
}

std::string StreamCalls::HeaderOf(uint64_t id, uint64_t first) const {
  const bool announces = first == 0 && payload_.size() > kPieceBytes;
  if (use_ == StreamUse::kEcho) {
    v1::ExecuteStreamResponse header;
    header.set_id(id);
    if (announces) header.set_payload_bytes(payload_.size());
    return header.SerializeAsString();
  }
  v1::ExecuteStreamRequest header;
  header.set_id(id);
  if (use_ == StreamUse::kInRuns) return header.SerializeAsString();
  if (announces) header.add_payload_bytes(payload_.size());
  std::string bytes = header.SerializeAsString();
  if (first == 0) absl::StrAppend(&bytes, request_field_);
  return bytes;
}

}  // namespace opserve::wire_bench
