#include "tests/bench/wire/answer_check.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace opserve::wire_bench {
namespace {

using google::protobuf::internal::WireFormatLite;

// More than any header in front of a payload.
constexpr size_t kMostHeaderBytes = 4096;

std::vector<uint8_t> FirstBytes(const std::vector<grpc::Slice>& slices) {
  std::vector<uint8_t> first;
  for (const grpc::Slice& slice : slices) {
    const size_t count = std::min(slice.size(), kMostHeaderBytes - first.size());
    first.insert(first.end(), slice.begin(), slice.begin() + count);
    if (first.size() == kMostHeaderBytes) break;
  }
  return first;
}

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

// Compares the bytes from `offset` on with `expected`, slice by slice.
bool Equal(const std::vector<grpc::Slice>& slices, uint64_t offset,
           std::span<const uint8_t> expected) {
  for (const grpc::Slice& slice : slices) {
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    const uint64_t count = std::min<uint64_t>(slice.size() - offset, expected.size());
    if (std::memcmp(slice.begin() + offset, expected.data(), count) != 0) return false;
    expected = expected.subspan(count);
    if (expected.empty()) return true;
    offset = 0;
  }
  return expected.empty();
}

}  // namespace

absl::Status CheckAnswer(const grpc::ByteBuffer& answer, int field,
                         std::span<const uint8_t> payload, Part part) {
  std::vector<grpc::Slice> slices;
  if (!answer.Dump(&slices).ok()) return absl::InternalError("an answer cannot be read");
  const auto offset = PayloadOffset(FirstBytes(slices), field, payload.size());
  if (!offset.ok()) return offset.status();
  if (*offset + payload.size() != answer.Length()) {
    return absl::InternalError(
        absl::StrCat("an answer has ", answer.Length(), " bytes, not ", *offset + payload.size()));
  }
  if (!Equal(slices, *offset + part.first, payload.subspan(part.first, part.bytes))) {
    return absl::InternalError(absl::StrCat("an answer is wrong in its bytes ", part.first, " to ",
                                            part.first + part.bytes - 1));
  }
  return absl::OkStatus();
}

}  // namespace opserve::wire_bench
