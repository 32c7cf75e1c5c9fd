// File: server/d3d12/transfer_way.h
//
// How the bytes of calls get to kernels, and results back.

#ifndef OPSERVE_SERVER_D3D12_TRANSFER_WAY_H_
#define OPSERVE_SERVER_D3D12_TRANSFER_WAY_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace opserve::d3d12 {

enum class TransferWay : uint8_t {
  // Copied to the device's own memory before kernels run, and from it afterwards: one after the
  // other, in one queue.
  kCopies,
  // Kernels read and write the memory that the host fills and reads: both ways at once, and no copy
  // at all where device and host have the same memory. For kernels of packed tensors, which read
  // and write each byte once, and calls of which no copies are known.
  kDirect,
  // As copies, but those up and those down have queues of their own, so that one part of a batch
  // comes down while the next one goes up. For batches of several parts.
  kCopyQueues,
};

// What came of running the same batch one way.
struct TransferTrial {
  TransferWay way = TransferWay::kCopies;
  // The shortest time that it took.
  std::chrono::nanoseconds took = std::chrono::nanoseconds::max();
  // What tells its results from others.
  size_t results = 0;
};

// `trials` begin with that by copies, which is right; simpler ways come before others. Each way is
// taken instead of those before it where it took less than them by a tenth, and gave what copies
// did: what is too close to tell stays as it is, and a driver that is wrong about it does no harm.
constexpr TransferWay ChosenWay(std::span<const TransferTrial> trials) {
  const TransferTrial* chosen = &trials.front();
  for (const TransferTrial& trial : trials) {
    const bool is_faster = trial.took / 9 < chosen->took / 10;
    if (is_faster && trial.results == trials.front().results) chosen = &trial;
  }
  return chosen->way;
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_TRANSFER_WAY_H_
