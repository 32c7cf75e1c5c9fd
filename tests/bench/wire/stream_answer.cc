#include "tests/bench/wire/stream_answer.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::wire_bench {
namespace {

using google::protobuf::internal::WireFormatLite;
using Fields = v1::ExecuteStreamResponse;

constexpr uint32_t Bytes(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

constexpr uint32_t Varint(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_VARINT);
}

// The terms of an answer, whose length comes next.
absl::Status ReadTerms(google::protobuf::io::CodedInputStream& input, StreamAnswer& answer) {
  v1::PipelineTerms terms;
  const auto limit = input.ReadLengthAndPushLimit();
  if (!terms.ParseFromCodedStream(&input) || !input.CheckEntireMessageConsumedAndPopLimit(limit)) {
    return absl::InternalError("the terms of a request are malformed");
  }
  if (terms.run_bytes_size() != 1 || terms.run_bytes(0) == 0 || terms.max_open_runs() == 0) {
    return absl::InternalError("a request of the stream does not come in runs");
  }
  answer.run_bytes = terms.run_bytes(0);
  answer.max_open_runs = terms.max_open_runs();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StreamAnswer> ReadStreamAnswer(const std::vector<uint8_t>& header) {
  google::protobuf::io::CodedInputStream input(header.data(), static_cast<int>(header.size()));
  StreamAnswer answer;
  bool valid = true;
  while (valid) {
    const uint32_t tag = input.ReadTag();
    if (tag == 0) break;
    if (tag == Bytes(Fields::kErrorFieldNumber)) {
      return absl::InternalError("a request of the stream failed");
    }
    if (tag == Bytes(Fields::kPayloadFieldNumber)) {
      valid = input.ReadVarint64(&answer.piece_bytes);
      answer.piece_offset = static_cast<uint64_t>(input.CurrentPosition());
      break;
    }
    if (tag == Bytes(Fields::kPipelineFieldNumber)) {
      if (absl::Status status = ReadTerms(input, answer); !status.ok()) return status;
    } else if (tag == Varint(Fields::kIdFieldNumber)) {
      valid = input.ReadVarint64(&answer.id);
    } else if (tag == Varint(Fields::kPayloadBytesFieldNumber)) {
      valid = input.ReadVarint64(&answer.payload_bytes);
    } else {
      valid = WireFormatLite::SkipField(&input, tag);
    }
  }
  if (!valid) return absl::InternalError("an answer of the stream is malformed");
  return answer;
}

}  // namespace opserve::wire_bench
