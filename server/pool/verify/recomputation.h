// File: server/pool/verify/recomputation.h
//
// The results of a call, computed again by another device and compared.

#ifndef OPSERVE_SERVER_POOL_VERIFY_RECOMPUTATION_H_
#define OPSERVE_SERVER_POOL_VERIFY_RECOMPUTATION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/device/compute_device.h"
#include "server/pool/verify/result_check.h"

namespace opserve {

// A wrong result: of which operator, and how.
struct Mismatch {
  const Invocation* call = nullptr;
  Difference difference;
};

// Not thread-safe.
class Recomputation {
 public:
  // `call` holds results. What it refers to must outlive this object.
  explicit Recomputation(const DeviceCall& call);
  Recomputation(const Recomputation&) = delete;
  Recomputation& operator=(const Recomputation&) = delete;

  // Computes the results again.
  absl::Status Run(ComputeDevice& device);

  // After a Run that succeeded: puts what it computed in the place of results that differ. Returns
  // the first difference.
  std::optional<Mismatch> Repair();

 private:
  // A result of the call, and the same computed again.
  struct Result {
    const Invocation* call;
    // Which step of a sequence gave it.
    uint32_t step;
    std::byte* actual;
    std::unique_ptr<std::byte[]> expected;
  };

  void AddResult(const Invocation& call, uint32_t step, std::byte* actual);

  std::vector<Result> results_;
  // The call with room of its own for results.
  SequenceCall sequence_;
  DeviceCall call_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_RECOMPUTATION_H_
