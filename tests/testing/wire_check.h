// File: tests/testing/wire_check.h
//
// Holds the splitting of requests to protobuf's own parser.

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
#include "server/wire_split.h"

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

// How Split differs from the generated parser on this message; empty where it does not.
inline std::string WireDifference(std::string_view message, const std::vector<size_t>& cuts) {
  const google::protobuf::LogSilencer quiet;  // it tells of every text that is no UTF-8
  v1::ExecuteRequest whole;
  const bool is_valid = whole.ParseFromArray(message.data(), static_cast<int>(message.size()));
  const SlicedMessage sliced(message, cuts);
  SplitRequest split;
  const SplitResult result = Split(sliced.views(), std::numeric_limits<size_t>::max(), split);
  v1::ExecuteRequest header;
  const bool is_accepted = result == SplitResult::kOk && header.ParseFromString(split.header);
  if (is_accepted != is_valid) return is_valid ? "refused though valid" : "accepted though invalid";
  if (!is_valid) return "";
  if (header.payloads_size() != 0) return "a payload in the header";
  if (split.payloads.size() != static_cast<size_t>(whole.payloads_size())) {
    return "another number of payloads";
  }
  for (int i = 0; i < whole.payloads_size(); ++i) {
    if (PayloadOf(sliced.views(), split.payloads[i]) != whole.payloads(i)) return "another payload";
  }
  whole.clear_payloads();
  if (header.SerializeAsString() != whole.SerializeAsString()) return "another header";
  return "";
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_WIRE_CHECK_H_
