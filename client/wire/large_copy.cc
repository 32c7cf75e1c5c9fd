#include "client/wire/large_copy.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

namespace opserve::client_internal {
namespace {

constexpr uint64_t kMostCopiers = 4;

// Copies the bytes from `begin` to `end` of all pieces to the same place of the target.
void CopyShare(std::span<const ByteSlice> pieces, uint64_t begin, uint64_t end, std::byte* target) {
  uint64_t at = 0;  // where the piece begins
  for (const ByteSlice piece : pieces) {
    const uint64_t from = std::max(at, begin);
    const uint64_t to = std::min(at + piece.size(), end);
    if (from < to) std::memcpy(target + from, piece.data() + (from - at), to - from);
    at += piece.size();
    if (at >= end) return;
  }
}

uint64_t ProcessorCount() {
  static const uint64_t count = std::max(1u, std::thread::hardware_concurrency());
  return count;
}

}  // namespace

void CopyPieces(std::span<const ByteSlice> pieces, std::byte* target) {
  uint64_t bytes = 0;
  for (const ByteSlice piece : pieces) bytes += piece.size();
  const uint64_t copiers = std::min({bytes / kLeastBytesPerCopier, kMostCopiers, ProcessorCount()});
  if (copiers < 2) return CopyShare(pieces, 0, bytes, target);

  const uint64_t share = bytes / copiers;
  std::vector<std::jthread> others;
  others.reserve(copiers - 1);
  uint64_t end = bytes;
  try {
    while (others.size() < copiers - 1) {
      others.emplace_back(CopyShare, pieces, end - share, end, target);
      end -= share;
    }
  } catch (const std::system_error&) {
    // The system has no thread left for this process.
  }
  CopyShare(pieces, 0, end, target);
}

}  // namespace opserve::client_internal
