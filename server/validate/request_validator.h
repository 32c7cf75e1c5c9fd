// File: server/validate/request_validator.h
//
// Decides whether a request may run: the checks of kernels/validate.h behind a cache, and those
// that concern the service rather than the operator.

#ifndef OPSERVE_SERVER_VALIDATE_REQUEST_VALIDATOR_H_
#define OPSERVE_SERVER_VALIDATE_REQUEST_VALIDATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/invocation.h"
#include "kernels/validate.h"
#include "server/device/gpu_presence.h"
#include "server/validate/request_cache.h"
#include "server/wire/wire.h"

namespace opserve {

// Longest request id in bytes.
inline constexpr size_t kMaxRequestIdBytes = 128;

// What is wrong with the parts of a request that describe nothing to compute.
std::vector<Violation> CheckEnvelope(const RequestEnvelope& envelope);

// Tells what a request that asks for a GPU would meet now. Thread-safe.
using GpuPresenceSource = std::function<GpuPresence()>;

// OK, or the error of a request that asks for a GPU where there is none: DEVICE_UNAVAILABLE, to be
// tried again where one is starting.
absl::Status CheckDevice(const RequestEnvelope& envelope, const GpuPresenceSource& gpu_presence);

// OK, or the error of a request whose results are too large for one message: RESPONSE_TOO_LARGE.
absl::Status CheckResponse(uint64_t result_bytes, uint64_t header_bytes,
                           uint64_t max_message_bytes);

// Thread-safe.
class RequestValidator {
 public:
  // Remembers about `cache_entries` valid calls; 0 validates every request anew.
  // `max_message_bytes`: largest response. `gpu_presence` is asked only for requests for a GPU.
  RequestValidator(const ValidationLimits& limits, uint64_t max_message_bytes, size_t cache_entries,
                   GpuPresenceSource gpu_presence);

  // The validated call. Fails with INVALID_REQUEST or OPERATOR_NOT_FOUND and every violation, with
  // DEVICE_UNAVAILABLE, or with RESPONSE_TOO_LARGE. Only valid calls whose tensors are held whole
  // are remembered. `violations`: what is known to be wrong with the request already.
  absl::StatusOr<std::shared_ptr<const Invocation>> Validate(
      const RequestHeader& header, std::vector<Violation> violations = {});

  // Number of calls that are remembered.
  size_t cached() const { return cache_.size(); }

 private:
  const ValidationLimits limits_;
  const uint64_t max_message_bytes_;
  const GpuPresenceSource gpu_presence_;
  RequestCache cache_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_VALIDATE_REQUEST_VALIDATOR_H_
