#include "server/wire/wire_message.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpc/slice.h"
#include "proto/transport/completion_tag.h"
#include "server/errors/errors.h"
#include "server/rpc/message_bytes.h"

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

// Payloads whose pieces are smaller on average are gathered: each costs as much as copying it, both
// here and when it is sent.
constexpr uint64_t kMinPieceBytes = 4 << 10;

// A message in more slices than this that are smaller on average is put together as it comes: for
// each slice many bytes are kept beside its own, and all that gRPC read together with it.
constexpr size_t kMostSmallSlices = 16;

// The same bytes in one slice. Throws std::bad_alloc, where gRPC would end the program.
grpc::Slice Together(const std::vector<grpc::Slice>& slices, size_t bytes) {
  auto* const whole = new std::byte[bytes];
  std::byte* to = whole;
  for (const grpc::Slice& slice : slices) {
    std::memcpy(to, slice.begin(), slice.size());
    to += slice.size();
  }
  return {whole, bytes, [](void* memory) { delete[] static_cast<std::byte*>(memory); }};
}

absl::Status HeaderTooLargeError() {
  return MakeViolationError({"", absl::StrCat("The request has more than ", kMaxRequestHeaderBytes,
                                              " bytes beside the contents of its payloads.")});
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

uint64_t HeldByHeader(const google::protobuf::Message& header, size_t header_bytes) {
  constexpr size_t kMostFreeBytes = 4 << 10;
  return header_bytes <= kMostFreeBytes ? 0 : header.SpaceUsedLong() + header_bytes;
}

grpc::Slice FieldPrefix(int field, uint64_t bytes) { return Prefix(nullptr, field, bytes); }

absl::Status ReceivedMessage::Read(grpc::ByteBuffer& bytes, google::protobuf::Message& header,
                                   int payload_field) {
  if (!bytes.Dump(&slices_).ok()) return NoMessageError(header);
  const size_t length = bytes.Length();
  bytes.Clear();
  if (slices_.size() > kMostSmallSlices && length / slices_.size() < kMinPieceBytes) {
    slices_ = std::vector<grpc::Slice>{Together(slices_, length)};
  }
  views_.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_) {
    views_.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
  }
  SplitMessage split;
  const SplitResult result = Split(views_, payload_field, kMaxRequestHeaderBytes, split);
  // Whatever is wrong, the log names the request if it can.
  const bool is_header_valid = header.ParseFromString(split.header);
  if (result == SplitResult::kHeaderTooLarge) return HeaderTooLargeError();
  if (result != SplitResult::kOk || !is_header_valid) return NoMessageError(header);
  places_ = std::move(split.payloads);
  header_bytes_ = split.header.size() + places_.size() * sizeof(PayloadPlace);
  return absl::OkStatus();
}

std::vector<uint64_t> ReceivedMessage::payload_bytes() const {
  std::vector<uint64_t> bytes;
  bytes.reserve(places_.size());
  for (const PayloadPlace& place : places_) bytes.push_back(place.bytes);
  return bytes;
}

std::vector<TensorBytes> ReceivedMessage::Payloads(HostBufferPool& pool) {
  std::vector<TensorBytes> payloads;
  if (places_.empty()) {
    for (const HostBuffer& buffer : gathered_) payloads.emplace_back(buffer.data());
    slices_.clear();
    return payloads;
  }
  payloads.reserve(places_.size());
  pieces_.resize(places_.size());
  gathered_.resize(places_.size());
  size_t gathered = 0;
  for (size_t i = 0; i < places_.size(); ++i) {
    const PayloadPlace& place = places_[i];
    if (const std::byte* const whole = InOnePiece(views_, place); whole != nullptr) {
      payloads.emplace_back(whole);
      continue;
    }
    pieces_[i] = PiecesOf(views_, place);
    const TensorBytes payload(pieces_[i]);
    if (pieces_[i].size() <= place.bytes / kMinPieceBytes) {
      payloads.push_back(payload);
      continue;
    }
    gathered_[i] = pool.Take(place.bytes);
    payload.CopyTo(gathered_[i].data(), place.bytes);
    payloads.emplace_back(gathered_[i].data());
    ++gathered;
  }
  // Where nothing is used in place the message need not be held twice.
  if (gathered == places_.size()) slices_.clear();
  return payloads;
}

OutgoingPayload ReceivedMessage::Send(size_t payload, uint64_t bytes) {
  HostBuffer& gathered = gathered_[payload];
  if (gathered.data() != nullptr) return OutgoingPayload::From(std::move(gathered), bytes);
  const PayloadPlace& place = places_[payload];
  return PartOf(std::span(slices_).subspan(place.slice), place.offset, bytes);
}

}  // namespace opserve
