#include "server/execute/payload_assembly.h"

#include <new>
#include <utility>

#include "server/errors/errors.h"

namespace opserve {

PayloadAssembly::PayloadAssembly(std::span<const uint64_t> lengths) {
  parts_.reserve(lengths.size());
  for (const uint64_t bytes : lengths)
    parts_.push_back({.bytes = bytes, .filled = 0, .buffer = {}});
  SkipComplete();
}

absl::Status PayloadAssembly::Allocate(HostBufferPool& pool) {
  try {
    for (Part& part : parts_) {
      if (part.bytes > 0) part.buffer = pool.Take(part.bytes);
    }
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  }
  return absl::OkStatus();
}

void PayloadAssembly::Drop() {
  for (Part& part : parts_) part.buffer = HostBuffer();
}

bool PayloadAssembly::Add(std::span<const ByteSlice> slices, const PayloadPlace& piece) {
  if (complete()) return false;
  Part& part = parts_[next_];
  if (piece.bytes > part.bytes - part.filled) return false;
  if (part.buffer.data() != nullptr) Gather(slices, piece, part.buffer.data() + part.filled);
  part.filled += piece.bytes;
  SkipComplete();
  return true;
}

ReceivedMessage PayloadAssembly::Take() {
  std::vector<HostBuffer> payloads;
  payloads.reserve(parts_.size());
  for (Part& part : parts_) payloads.push_back(std::move(part.buffer));
  return ReceivedMessage(std::move(payloads));
}

void PayloadAssembly::SkipComplete() {
  while (!complete() && parts_[next_].filled == parts_[next_].bytes) ++next_;
}

}  // namespace opserve
