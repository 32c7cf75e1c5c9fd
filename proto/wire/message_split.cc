#include "proto/wire/message_split.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>

namespace opserve {
namespace {

// The rules here are those of protobuf's C++ parser, odd ones included, because the verdict on a
// message must be the same: a tag has up to five bytes of which surplus bits are dropped, a length
// has up to five, any other number up to ten.
constexpr int kMaxTagBytes = 5;
constexpr int kMaxLengthBytes = 5;
constexpr int kMaxVarintBytes = 10;
// protobuf keeps this distance to the largest int.
constexpr uint64_t kMaxLength = INT_MAX - 16;
// protobuf's limit on nested messages and groups.
constexpr size_t kMaxGroupDepth = 100;

enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// A place in the slices that only moves forward.
class Cursor {
 public:
  explicit Cursor(std::span<const ByteSlice> slices) : slices_(slices) {
    for (const ByteSlice& slice : slices) left_ += slice.size();
    SkipEmpty();
  }

  uint64_t left() const { return left_; }
  PayloadPlace PlaceOf(uint64_t bytes) const { return {slice_, offset_, bytes}; }

  // The little-endian number of at most `max_bytes` groups of seven bits that comes next. Bits
  // above the 64th are dropped.
  std::optional<uint64_t> ReadVarint(int max_bytes) {
    uint64_t value = 0;
    for (int i = 0; i < max_bytes && left_ > 0; ++i) {
      const auto byte = static_cast<uint8_t>(slices_[slice_][offset_]);
      Advance(1);
      value |= uint64_t{byte & 0x7Fu} << (7 * i);
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  // False where fewer than `bytes` are left.
  bool Skip(uint64_t bytes) {
    if (bytes > left_) return false;
    while (bytes > 0) bytes -= Step(bytes).size();
    return true;
  }

  // Goes on by at most `bytes`, of which there is at least one, within one slice.
  ByteSlice Step(uint64_t bytes) {
    const ByteSlice rest = slices_[slice_].subspan(offset_);
    const ByteSlice piece = rest.first(std::min<uint64_t>(rest.size(), bytes));
    Advance(piece.size());
    return piece;
  }

 private:
  void Advance(size_t bytes) {
    offset_ += bytes;
    left_ -= bytes;
    SkipEmpty();
  }

  void SkipEmpty() {
    while (slice_ < slices_.size() && offset_ == slices_[slice_].size()) {
      ++slice_;
      offset_ = 0;
    }
  }

  std::span<const ByteSlice> slices_;
  size_t slice_ = 0;
  size_t offset_ = 0;
  uint64_t left_ = 0;
};

// A tag as protobuf reads it; 0, which is no tag, where there is none.
uint32_t ReadTag(Cursor& cursor) {
  return static_cast<uint32_t>(cursor.ReadVarint(kMaxTagBytes).value_or(0));
}

std::optional<uint64_t> ReadLength(Cursor& cursor) {
  const std::optional<uint64_t> length = cursor.ReadVarint(kMaxLengthBytes);
  if (!length || *length > kMaxLength || *length > cursor.left()) return std::nullopt;
  return length;
}

// Skips what follows the tag of a field that is no group.
bool SkipValue(Cursor& cursor, uint32_t wire_type) {
  switch (wire_type) {
    case kVarint:
      return cursor.ReadVarint(kMaxVarintBytes).has_value();
    case kFixed64:
      return cursor.Skip(8);
    case kLengthDelimited: {
      const std::optional<uint64_t> length = ReadLength(cursor);
      return length && cursor.Skip(*length);
    }
    case kFixed32:
      return cursor.Skip(4);
    default:
      return false;
  }
}

// Skips what follows `tag`, groups with all that is in them.
bool SkipField(Cursor& cursor, uint32_t tag) {
  std::vector<uint32_t> open;  // tags of the groups that have not ended
  do {
    if (tag >> 3 == 0) return false;
    const uint32_t wire_type = tag & 7;
    if (wire_type == kStartGroup) {
      if (open.size() == kMaxGroupDepth) return false;
      open.push_back(tag);
    } else if (wire_type == kEndGroup) {
      if (open.empty() || open.back() != tag - 1) return false;
      open.pop_back();
    } else if (!SkipValue(cursor, wire_type)) {
      return false;
    }
    if (!open.empty()) tag = ReadTag(cursor);
  } while (!open.empty());
  return true;
}

void Append(Cursor from, uint64_t bytes, std::string& out) {
  while (bytes > 0) {
    const ByteSlice piece = from.Step(bytes);
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    bytes -= piece.size();
  }
}

// Calls visit(piece) for the parts of a payload, in order; none of them is empty.
template <class Visit>
void ForEachPiece(std::span<const ByteSlice> slices, const PayloadPlace& place,
                  const Visit& visit) {
  size_t slice = place.slice;
  size_t offset = place.offset;
  for (uint64_t left = place.bytes; left > 0; ++slice, offset = 0) {
    const ByteSlice rest = slices[slice].subspan(offset);
    const ByteSlice piece = rest.first(std::min<uint64_t>(rest.size(), left));
    if (!piece.empty()) visit(piece);
    left -= piece.size();
  }
}

}  // namespace

SplitResult Split(std::span<const ByteSlice> slices, int payload_field, size_t max_header_bytes,
                  SplitMessage& out) {
  const uint32_t payload_tag = static_cast<uint32_t>(payload_field) << 3 | kLengthDelimited;
  Cursor cursor(slices);
  if (cursor.left() > INT_MAX) return SplitResult::kMalformed;
  uint64_t header_bytes = 0;  // with the tags and lengths of payloads, which cost memory as well
  while (cursor.left() > 0) {
    const Cursor start = cursor;
    const uint32_t tag = ReadTag(cursor);
    const bool is_payload = tag == payload_tag;
    uint64_t content = 0;
    if (is_payload) {
      const std::optional<uint64_t> length = ReadLength(cursor);
      if (!length) return SplitResult::kMalformed;
      content = *length;
    } else if (!SkipField(cursor, tag)) {
      return SplitResult::kMalformed;
    }
    const uint64_t field_bytes = start.left() - cursor.left();
    header_bytes += field_bytes;
    if (header_bytes > max_header_bytes) return SplitResult::kHeaderTooLarge;
    if (is_payload) {
      out.payloads.push_back(cursor.PlaceOf(content));
      cursor.Skip(content);
    } else {
      Append(start, field_bytes, out.header);
    }
  }
  return SplitResult::kOk;
}

const std::byte* InOnePiece(std::span<const ByteSlice> slices, const PayloadPlace& place) {
  if (place.slice == slices.size()) return nullptr;  // an empty one at the end of the message
  const ByteSlice rest = slices[place.slice].subspan(place.offset);
  return rest.size() >= place.bytes ? rest.data() : nullptr;
}

std::vector<ByteSlice> PiecesOf(std::span<const ByteSlice> slices, const PayloadPlace& place) {
  std::vector<ByteSlice> pieces;
  ForEachPiece(slices, place, [&](ByteSlice piece) { pieces.push_back(piece); });
  return pieces;
}

void Gather(std::span<const ByteSlice> slices, const PayloadPlace& place, std::byte* target) {
  ForEachPiece(slices, place, [&](ByteSlice piece) {
    std::memcpy(target, piece.data(), piece.size());
    target += piece.size();
  });
}

}  // namespace opserve
