#include "server/wire/received_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"
#include "server/rpc/message_bytes.h"

namespace opserve {
namespace {

// Payloads whose pieces are smaller on average are gathered: each costs as much as copying it, both
// here and when it is sent.
constexpr uint64_t kMinPieceBytes = 4 << 10;

absl::Status HeaderTooLargeError() {
  return MakeViolationError({"", absl::StrCat("The request has more than ", kMaxRequestHeaderBytes,
                                              " bytes beside the contents of its payloads.")});
}

}  // namespace

absl::Status ReceivedMessage::Read(grpc::ByteBuffer& bytes, google::protobuf::Message& header,
                                   int payload_field) {
  if (!bytes.Dump(&slices_).ok()) return NoMessageError(header);
  bytes.Clear();
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
