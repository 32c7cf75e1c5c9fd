#include "tests/bench/wire/received_bytes.h"

#include <algorithm>
#include <cstring>

namespace opserve::wire_bench {

uint64_t ReceivedBytes::size() const {
  uint64_t size = 0;
  for (const grpc::Slice& slice : slices_) size += slice.size();
  return size;
}

std::vector<uint8_t> ReceivedBytes::Header() const {
  constexpr size_t kMostBytes = 4096;
  std::vector<uint8_t> header;
  for (const grpc::Slice& slice : slices_) {
    const size_t count = std::min(slice.size(), kMostBytes - header.size());
    header.insert(header.end(), slice.begin(), slice.begin() + count);
    if (header.size() == kMostBytes) break;
  }
  return header;
}

bool ReceivedBytes::Equal(uint64_t offset, std::span<const uint8_t> expected) const {
  for (const grpc::Slice& slice : slices_) {
    if (expected.empty()) break;
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    const uint64_t count = std::min<uint64_t>(slice.size() - offset, expected.size());
    if (std::memcmp(slice.begin() + offset, expected.data(), count) != 0) return false;
    expected = expected.subspan(count);
    offset = 0;
  }
  return expected.empty();
}

std::vector<grpc::Slice> ReceivedBytes::From(uint64_t offset) const {
  std::vector<grpc::Slice> rest;
  for (const grpc::Slice& slice : slices_) {
    if (offset >= slice.size()) {
      offset -= slice.size();
      continue;
    }
    // c_slice() counts a reference, which the part takes over.
    rest.emplace_back(grpc_slice_sub_no_ref(slice.c_slice(), offset, slice.size()),
                      grpc::Slice::STEAL_REF);
    offset = 0;
  }
  return rest;
}

}  // namespace opserve::wire_bench
