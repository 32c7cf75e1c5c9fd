// File: server/d3d12/transfer_way.h
//
// How the bytes of calls get to kernels, and results back.

#ifndef OPSERVE_SERVER_D3D12_TRANSFER_WAY_H_
#define OPSERVE_SERVER_D3D12_TRANSFER_WAY_H_

#include <chrono>
#include <cstdint>

namespace opserve::d3d12 {

enum class TransferWay : uint8_t {
  // Copied to the device's own memory before kernels run, and from it afterwards: one after the
  // other.
  kCopies,
  // Kernels read and write the memory that the host fills and reads: both ways at once, and no copy
  // at all where device and host have the same memory. For kernels of packed tensors, which read
  // and write each byte once, and calls of which no copies are known.
  kDirect,
};

// What came of running the same batch each way.
struct TransferTrial {
  std::chrono::nanoseconds copies = std::chrono::nanoseconds::max();
  std::chrono::nanoseconds direct = std::chrono::nanoseconds::max();
  // Whether the results were the same.
  bool agrees = false;
};

// The direct way where it took less by a tenth, and gave what the other one did: what is too close
// to tell stays as it is, and a driver that is wrong about it does no harm.
constexpr TransferWay ChosenWay(const TransferTrial& trial) {
  const bool is_faster = trial.direct / 9 < trial.copies / 10;
  return trial.agrees && is_faster ? TransferWay::kDirect : TransferWay::kCopies;
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_TRANSFER_WAY_H_
