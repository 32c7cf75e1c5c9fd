#include "server/tensors/input_ring.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "kernels/data_type.h"
#include "server/errors/errors.h"
#include "server/tensors/region_range.h"

namespace opserve {
namespace {

constexpr uint64_t kMostElements = uint64_t{1} << 40;

// Bytes of an element of each payload.
std::array<uint64_t, kMaxInputs> ElementBytes(const Invocation& call) {
  std::array<uint64_t, kMaxInputs> bytes = {};
  for (int i = 0; i + 1 < call.plan.tensor_count; ++i) {
    if (call.payload_index[i] >= 0) {
      bytes[call.payload_index[i]] = SizeOf(call.inputs[i].data_type);
    }
  }
  return bytes;
}

}  // namespace

absl::Status InputRing::Resolve(RegionTable& regions, const RegionCaller& caller,
                                const v1::PayloadRing& ring, std::vector<Violation>& violations) {
  for (int i = 0; i < ring.payload_bytes_size(); ++i) {
    fields_.push_back(absl::StrCat("ring.payload_bytes[", i, "]"));
  }
  run_elements_ = ring.run_elements();
  runs_ = ring.runs();
  return FindSlice(regions, caller, ring.memory(), "ring.memory", slice_, violations);
}

std::vector<Violation> InputRing::Check(const Invocation& call) {
  if (!call.plan.is_packed()) {
    return {{"ring",
             "Payloads come through a ring only where each element of the result is "
             "computed from those of its own place, and all tensors are packed."}};
  }
  std::vector<Violation> violations;
  element_count_ = call.plan.element_count;
  if (run_elements_ > kMostElements ||
      run_elements_ < std::min(element_count_, InputRing::kLeastRunElements)) {
    violations.push_back(
        {"ring.run_elements",
         absl::StrCat("A run of ", run_elements_, " elements is not within ", kLeastRunElements,
                      " (or all there are) and ", kMostElements, ".")});
  }
  if (runs_ == 0) {
    violations.push_back({"ring.runs", "There is room for no run (0); at least 1 is needed."});
  }
  if (!violations.empty()) return violations;
  if (slice_.offset % kRingAlignment != 0) {
    violations.push_back(
        {"ring.memory.offset", absl::StrCat("The offset (", slice_.offset,
                                            ") is not a multiple of ", kRingAlignment, ".")});
  }
  if (!PlacePayloads(call)) {
    violations.push_back(
        {"ring.memory.bytes",
         absl::StrCat("The memory (", slice_.bytes, " bytes) has no room for the counters and ",
                      runs_, " runs of ", run_elements_, " elements of each payload.")});
  }
  return violations;
}

bool InputRing::PlacePayloads(const Invocation& call) {
  uint64_t end = kRingCounterBytes;
  uint64_t bytes = call.output_bytes;
  for (const uint64_t element : ElementBytes(call)) {
    if (element == 0) break;
    // Both are bounded, so nothing overflows before it is too much.
    const uint64_t left = slice_.bytes - std::min(slice_.bytes, end);
    if (run_elements_ * element > left / runs_) return false;
    payloads_.emplace_back(slice_.data() + end);
    end = AlignForRing(end + runs_ * run_elements_ * element);
    bytes += element * element_count_;
  }
  most_wait_ = bytes * kMostWaitPerByte;
  return true;
}

bool InputRing::HasAll() {
  has_all_ = run_count() <= runs_ && counters().filled.count() >= run_count();
  return has_all_;
}

const std::vector<TensorBytes>& InputRing::Begin(const std::atomic<bool>& stop) {
  stop_ = &stop;
  return payloads_;
}

absl::Status InputRing::WaitForRun() {
  RingCounter& filled = counters().filled;
  const auto seen = static_cast<uint32_t>(taken_);
  while (filled.count() == seen) {
    if (*stop_) return absl::CancelledError("nobody waits for the result");
    if (waited_ >= most_wait_) {
      return MakeError(
          ErrorReason::UPLOAD_TOO_SLOW,
          absl::StrCat("Only ", taken_, " of ", run_count(),
                       " runs came through the ring, and the server waits no longer than ",
                       most_wait_ / std::chrono::microseconds(1), " us for so many bytes."),
          {{"bytes_per_second", absl::StrCat(std::chrono::seconds(1) / kMostWaitPerByte)}});
    }
    const Clock::TimePoint start = clock_.Now();
    filled.WaitWhile(seen, kLongestSleep);
    waited_ += clock_.Now() - start;
  }
  return absl::OkStatus();
}

absl::StatusOr<ArrivingInputs::Part> InputRing::Next() {
  if (has_all_) {
    taken_ = run_count();
    return Part{0, element_count_};
  }
  absl::Status status = WaitForRun();
  if (!status.ok()) return status;
  // Whatever the client counts, no more is taken than there is room for.
  const uint64_t there =
      std::clamp<uint64_t>(counters().filled.count() - static_cast<uint32_t>(taken_), 1, runs_);
  const uint64_t slot = taken_ % runs_;
  // The client goes on meanwhile with the other half.
  const uint64_t most = std::max<uint64_t>(1, runs_ / 2);
  const uint64_t taken = std::min({there, runs_ - slot, most, run_count() - taken_});
  const uint64_t first = taken_ * run_elements_;
  taken_ += taken;
  return Part{slot * run_elements_, std::min(taken_ * run_elements_, element_count_) - first};
}

void InputRing::Release() { counters().emptied.Publish(static_cast<uint32_t>(taken_)); }

}  // namespace opserve
