// File: client/memory/ring_feed.h
//
// Inputs of a call that go through a ring of shared memory while the call is under way: PayloadRing
// in proto/opserve/v1/operator_service.proto.

#ifndef OPSERVE_CLIENT_MEMORY_RING_FEED_H_
#define OPSERVE_CLIENT_MEMORY_RING_FEED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "client/base/message_feed.h"
#include "opserve/tensor.h"
#include "proto/ring/ring_counter.h"

namespace opserve::client_internal {

// How the inputs of a call are divided into runs, and where these lie in the ring. A value.
struct RingLayout {
  // Of each input: its bytes, those of an element, and where its room begins.
  struct Input {
    uint64_t bytes = 0;
    uint64_t element_bytes = 0;
    uint64_t place = 0;
  };
  std::vector<Input> inputs;
  uint64_t element_count = 0;
  uint64_t run_elements = 0;
  // Runs in all, and for how many there is room.
  uint64_t run_count = 0;
  uint64_t runs = 0;
  // Of the whole ring.
  uint64_t bytes = 0;
};

// The layout for packed inputs of as many elements each; nullopt where they are not.
std::optional<RingLayout> LayOutRing(std::span<const TensorView> inputs);

class RingFeed final : public MessageFeed {
 public:
  // `ring` has layout.bytes bytes, at a multiple of kRingAlignment. It and the memory of `inputs`
  // must stay while the feed is used.
  RingFeed(RingLayout layout, std::span<const TensorView> inputs, std::span<std::byte> ring);

  void Begin() override;
  Progress Feed() override;

 private:
  void CopyRun(uint64_t run);

  const RingLayout layout_;
  std::vector<const std::byte*> inputs_;
  const std::span<std::byte> ring_;
  RingCounters& counters_;
  uint64_t filled_ = 0;
  // As the server told last.
  uint32_t emptied_ = 0;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_MEMORY_RING_FEED_H_
