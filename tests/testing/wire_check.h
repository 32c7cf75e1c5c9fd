// File: tests/testing/wire_check.h
//
// Holds the splitting of messages to protobuf's own parser.

#ifndef OPSERVE_TESTS_TESTING_WIRE_CHECK_H_
#define OPSERVE_TESTS_TESTING_WIRE_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/stubs/logging.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/wire/message_split.h"

namespace opserve::testing {

// A message in slices, each in memory of its own and of exactly its size, so that AddressSanitizer
// sees a read beyond it.
class SlicedMessage {
 public:
  // Slices end at `cuts`, ascending offsets of at most message.size(), and at the end.
  SlicedMessage(std::string_view message, const std::vector<size_t>& cuts) {
    size_t begin = 0;
    for (const size_t cut : cuts) {
      Add(message.substr(begin, cut - begin));
      begin = cut;
    }
    Add(message.substr(begin));
    for (const auto& slice : slices_) views_.emplace_back(slice);
  }

  const std::vector<ByteSlice>& views() const { return views_; }

 private:
  void Add(std::string_view part) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(part.data());
    slices_.emplace_back(bytes, bytes + part.size());
  }

  std::vector<std::vector<std::byte>> slices_;
  std::vector<ByteSlice> views_;
};

// The bytes of a payload, as InOnePiece and Gather tell them.
inline std::string PayloadOf(const std::vector<ByteSlice>& slices, const PayloadPlace& place) {
  std::string bytes(place.bytes, '\0');
  Gather(slices, place, reinterpret_cast<std::byte*>(bytes.data()));
  const std::byte* const direct = InOnePiece(slices, place);
  if (direct == nullptr) return bytes;
  const std::string same(reinterpret_cast<const char*>(direct), place.bytes);
  return same == bytes ? bytes : "InOnePiece and Gather disagree";
}

// The payloads of a message, which are taken out of it; and the same of the places that Split
// found.
inline std::vector<std::string> TakePayloads(v1::ExecuteRequest& request) {
  std::vector<std::string> payloads(request.payloads().begin(), request.payloads().end());
  request.clear_payloads();
  return payloads;
}
inline std::vector<std::string> TakePayloads(v1::ExecuteResponse& response) {
  std::vector<std::string> payload = {response.payload()};
  response.clear_payload();
  return payload;
}
inline std::vector<std::string> KeepPayloads(const v1::ExecuteRequest&,
                                             std::vector<std::string> found) {
  return found;
}
// A field that is not repeated has the last value that was sent, or none.
inline std::vector<std::string> KeepPayloads(const v1::ExecuteResponse&,
                                             std::vector<std::string> found) {
  return {found.empty() ? "" : found.back()};
}

// How Split differs from the generated parser on this message; empty where it does not.
template <class Message = v1::ExecuteRequest>
std::string WireDifference(std::string_view message, const std::vector<size_t>& cuts) {
  const google::protobuf::LogSilencer quiet;  // it tells of every text that is no UTF-8
  Message whole;
  const bool is_valid = whole.ParseFromArray(message.data(), static_cast<int>(message.size()));
  const SlicedMessage sliced(message, cuts);
  SplitMessage split;
  const SplitResult result =
      Split(sliced.views(), kPayloadField, std::numeric_limits<size_t>::max(), split);
  Message header;
  const bool is_accepted = result == SplitResult::kOk && header.ParseFromString(split.header);
  if (is_accepted != is_valid) return is_valid ? "refused though valid" : "accepted though invalid";
  if (!is_valid) return "";
  std::vector<std::string> found;
  for (const PayloadPlace& place : split.payloads) {
    found.push_back(PayloadOf(sliced.views(), place));
  }
  if (KeepPayloads(header, found) != TakePayloads(whole)) return "other payloads";
  if (header.SerializeAsString() != whole.SerializeAsString()) return "another header";
  return "";
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_WIRE_CHECK_H_
