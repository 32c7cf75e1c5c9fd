#include "client/memory/ring_feed.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace opserve::client_internal {
namespace {

// Of all inputs together. A run is long enough to hide what it costs to tell of it; the ring is
// small enough to stay in a processor's cache, and large enough that the ends need not take turns.
constexpr uint64_t kRunBytes = uint64_t{256} << 10;
constexpr uint64_t kRingBytes = uint64_t{4} << 20;
// Whole cache lines of each input, and not fewer elements than a server takes.
constexpr uint64_t kElementsPerUnit = 1024;

constexpr std::chrono::milliseconds kLongestWait{1};

}  // namespace

std::optional<RingLayout> LayOutRing(std::span<const TensorView> inputs) {
  RingLayout layout;
  uint64_t element_bytes = 0;
  for (const TensorView& input : inputs) {
    const absl::StatusOr<uint64_t> bytes = ByteSize(input.spec());
    const uint64_t size = SizeOf(input.spec().data_type);
    if (!bytes.ok() || size == 0 || *bytes == 0) return std::nullopt;
    const uint64_t count = *bytes / size;
    if (layout.element_count == 0) layout.element_count = count;
    if (layout.element_count != count) return std::nullopt;
    layout.inputs.push_back({.bytes = *bytes, .element_bytes = size});
    element_bytes += size;
  }
  if (layout.inputs.empty()) return std::nullopt;
  const uint64_t units = kRunBytes / (element_bytes * kElementsPerUnit);
  layout.run_elements = std::max<uint64_t>(1, units) * kElementsPerUnit;
  layout.run_count = (layout.element_count + layout.run_elements - 1) / layout.run_elements;
  layout.runs = std::min(layout.run_count, kRingBytes / kRunBytes);
  layout.bytes = kRingCounterBytes;
  for (RingLayout::Input& input : layout.inputs) {
    input.place = layout.bytes;
    layout.bytes =
        AlignForRing(layout.bytes + layout.runs * layout.run_elements * input.element_bytes);
  }
  return layout;
}

RingFeed::RingFeed(RingLayout layout, std::span<const TensorView> inputs, std::span<std::byte> ring)
    : layout_(std::move(layout)), ring_(ring), counters_(*new (ring.data()) RingCounters) {
  for (const TensorView& input : inputs) inputs_.push_back(input.bytes().data());
}

void RingFeed::Begin() {
  counters_.filled.Reset();
  counters_.emptied.Reset();
  filled_ = 0;
  emptied_ = 0;
}

MessageFeed::Progress RingFeed::Feed() {
  if (filled_ == layout_.run_count) return Progress::kDone;
  if (static_cast<uint32_t>(filled_) - emptied_ >= layout_.runs) {
    emptied_ = counters_.emptied.WaitWhile(emptied_, kLongestWait);
    if (static_cast<uint32_t>(filled_) - emptied_ >= layout_.runs) return Progress::kStalled;
  }
  CopyRun(filled_);
  ++filled_;
  counters_.filled.Publish(static_cast<uint32_t>(filled_));
  return Progress::kFed;
}

void RingFeed::CopyRun(uint64_t run) {
  const uint64_t first = run * layout_.run_elements;
  const uint64_t elements = std::min(layout_.run_elements, layout_.element_count - first);
  const uint64_t place = run % layout_.runs * layout_.run_elements;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const RingLayout::Input& input = layout_.inputs[i];
    std::memcpy(ring_.data() + input.place + place * input.element_bytes,
                inputs_[i] + first * input.element_bytes, elements * input.element_bytes);
  }
}

}  // namespace opserve::client_internal
