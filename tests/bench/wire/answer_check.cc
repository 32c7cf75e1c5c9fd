#include "tests/bench/wire/answer_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace opserve::wire_bench {
namespace {

using google::protobuf::internal::WireFormatLite;

// Where the payload begins.
absl::StatusOr<uint64_t> PayloadOffset(const std::vector<uint8_t>& header, int field,
                                       uint64_t payload_bytes) {
  google::protobuf::io::CodedInputStream input(header.data(), static_cast<int>(header.size()));
  while (const uint32_t tag = input.ReadTag()) {
    if (tag != WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
      continue;
    }
    uint64_t bytes = 0;
    if (!input.ReadVarint64(&bytes)) break;
    if (bytes == payload_bytes) return static_cast<uint64_t>(input.CurrentPosition());
    return absl::InternalError(
        absl::StrCat("an answer has ", bytes, " bytes of payload, not ", payload_bytes));
  }
  return absl::InternalError("an answer has no payload");
}

}  // namespace

absl::StatusOr<uint64_t> FindPayload(const ReceivedBytes& answer, int field,
                                     uint64_t payload_bytes) {
  auto offset = PayloadOffset(answer.Header(), field, payload_bytes);
  if (!offset.ok() || *offset + payload_bytes == answer.size()) return offset;
  return absl::InternalError(
      absl::StrCat("an answer has ", answer.size(), " bytes, not ", *offset + payload_bytes));
}

absl::Status CheckAnswer(const grpc::ByteBuffer& answer, int field,
                         std::span<const uint8_t> payload, Part part) {
  const ReceivedBytes received(answer);
  const auto offset = FindPayload(received, field, payload.size());
  if (!offset.ok()) return offset.status();
  if (!received.Equal(*offset + part.first, payload.subspan(part.first, part.bytes))) {
    return absl::InternalError(absl::StrCat("an answer is wrong in its bytes ", part.first, " to ",
                                            part.first + part.bytes - 1));
  }
  return absl::OkStatus();
}

}  // namespace opserve::wire_bench
