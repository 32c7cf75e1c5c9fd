#include "server/received_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/errors.h"
#include "server/message_bytes.h"

namespace opserve {
namespace {

absl::Status HeaderTooLargeError() {
  return MakeViolationError({"", absl::StrCat("The request has more than ", kMaxRequestHeaderBytes,
                                              " bytes beside the contents of its payloads.")});
}

}  // namespace

absl::Status ReceivedMessage::Read(grpc::ByteBuffer& bytes, google::protobuf::Message& header) {
  if (!bytes.Dump(&slices_).ok()) return NoMessageError(header);
  bytes.Clear();
  views_.reserve(slices_.size());
  for (const grpc::Slice& slice : slices_) {
    views_.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
  }
  SplitMessage split;
  const SplitResult result = Split(views_, kPayloadField, kMaxRequestHeaderBytes, split);
  // Whatever is wrong, the log names the request if it can.
  const bool is_header_valid = header.ParseFromString(split.header);
  if (result == SplitResult::kHeaderTooLarge) return HeaderTooLargeError();
  if (result != SplitResult::kOk || !is_header_valid) return NoMessageError(header);
  places_ = std::move(split.payloads);
  return absl::OkStatus();
}

std::vector<uint64_t> ReceivedMessage::payload_bytes() const {
  std::vector<uint64_t> bytes;
  bytes.reserve(places_.size());
  for (const PayloadPlace& place : places_) bytes.push_back(place.bytes);
  return bytes;
}

std::vector<const std::byte*> ReceivedMessage::Payloads(HostBufferPool& pool) {
  std::vector<const std::byte*> payloads;
  payloads.reserve(places_.size());
  for (const PayloadPlace& place : places_) {
    const std::byte* payload = InOnePiece(views_, place);
    if (payload == nullptr) {
      HostBuffer& buffer = gathered_.emplace_back(pool.Take(place.bytes));
      Gather(views_, place, buffer.data());
      payload = buffer.data();
    }
    payloads.push_back(payload);
  }
  // Where nothing is used in place the message need not be held twice.
  if (gathered_.size() == places_.size()) slices_.clear();
  return payloads;
}

}  // namespace opserve
