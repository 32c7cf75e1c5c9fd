#include "client/wire/message.h"

#include <limits>
#include <utility>

#include "client/base/sockets.h"
#include "client/wire/large_copy.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace opserve::client_internal {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// A tag and a length take at most five and ten bytes.
constexpr size_t kMaxPrefixBytes = 15;

void AppendPrefix(uint64_t payload_bytes, std::string& text) {
  constexpr uint32_t kTag =
      WireFormatLite::MakeTag(kPayloadField, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  uint8_t prefix[kMaxPrefixBytes];
  uint8_t* end = CodedOutputStream::WriteTagToArray(kTag, prefix);
  end = CodedOutputStream::WriteVarint64ToArray(payload_bytes, end);
  text.append(prefix, end);
}

// A slice that owns its text.
grpc::Slice SliceOf(std::string text) {
  auto* const owned = new std::string(std::move(text));
  return {owned->data(), owned->size(), [](void* held) { delete static_cast<std::string*>(held); },
          owned};
}

// Where a connection that does not move cannot be closed, what it holds would be lent for too long.
bool IsCopied(std::span<const std::byte> payload) {
  return payload.size() < kLeastLentBytes || !Sockets::CanWatch();
}

// Bytes of the message beside lent payloads, or some more.
size_t CopiedBytes(const OutgoingMessage& message) {
  size_t bytes = message.header.size();
  for (const auto& payload : message.payloads) {
    bytes += kMaxPrefixBytes + (IsCopied(payload) ? payload.size() : 0);
  }
  return bytes;
}

}  // namespace

uint64_t MostBytes(const OutgoingMessage& message) {
  uint64_t bytes = message.header.size();
  for (const auto& payload : message.payloads) bytes += kMaxPrefixBytes + payload.size();
  return bytes;
}

grpc::ByteBuffer Compose(const OutgoingMessage& message, PayloadHold& hold) {
  std::vector<grpc::Slice> slices;
  std::string text;
  text.reserve(CopiedBytes(message));
  text += message.header;
  for (const auto& payload : message.payloads) {
    AppendPrefix(payload.size(), text);
    if (IsCopied(payload)) {
      text.append(reinterpret_cast<const char*>(payload.data()), payload.size());
      continue;
    }
    slices.push_back(SliceOf(std::exchange(text, {})));
    slices.push_back(hold.Lend(payload));
  }
  if (!text.empty() || slices.empty()) slices.push_back(SliceOf(std::move(text)));
  return {slices.data(), slices.size()};
}

absl::Status ResponseMessage::Read(grpc::ByteBuffer& bytes) {
  *this = {};
  const bool is_there = bytes.Dump(&slices_).ok();
  bytes.Clear();
  views_.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_) {
    views_.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
  }
  // gRPC has bounded the message already.
  constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  if (is_there && Split(views_, kPayloadField, kNoLimit, parts_) == SplitResult::kOk) {
    return absl::OkStatus();
  }
  *this = {};
  return absl::DataLossError("the server's response is no message");
}

void ResponseMessage::CopyPayload(size_t payload, std::byte* target) const {
  CopyPieces(PiecesOf(views_, parts_.payloads[payload]), target);
}

}  // namespace opserve::client_internal
