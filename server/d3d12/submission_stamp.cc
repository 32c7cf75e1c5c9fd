#include "server/d3d12/submission_stamp.h"

#include <cstring>
#include <random>

namespace opserve::d3d12 {
namespace {

uint64_t RandomNumber() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

StampNumbers::StampNumbers() : StampNumbers(RandomNumber()) {}

uint64_t StampNumbers::Next() {
  const uint64_t number = next_++;
  return static_cast<uint32_t>(number) != 0 ? number : next_++;
}

void SubmissionStamp::Prepare(std::byte* upload, std::byte* readback) const {
  std::memcpy(upload + upload_offset_, &number_, kBytes);
  std::memset(readback + readback_offset_, 0, kBytes + kMarkBytes);
}

bool SubmissionStamp::HasArrived(const std::byte* readback) const {
  // A stamp of no submission never arrives.
  return number_ != 0 && std::memcmp(readback + readback_offset_, &number_, kBytes) == 0;
}

bool SubmissionStamp::IsMarked(const std::byte* readback) const {
  uint32_t word = 0;
  std::memcpy(&word, readback + mark_offset(), kMarkBytes);
  return word != 0 && word == mark();
}

}  // namespace opserve::d3d12
