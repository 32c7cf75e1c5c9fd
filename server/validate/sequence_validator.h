// File: server/validate/sequence_validator.h
//
// Decides whether a sequence may run: the checks of kernels/validate_sequence.h, and those that
// concern the service rather than the operators.

#ifndef OPSERVE_SERVER_VALIDATE_SEQUENCE_VALIDATOR_H_
#define OPSERVE_SERVER_VALIDATE_SEQUENCE_VALIDATOR_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/sequence.h"
#include "kernels/validate_sequence.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/validate/request_validator.h"
#include "server/wire/sequence_wire.h"

namespace opserve {

// Immutable and thread-safe.
class SequenceValidator {
 public:
  // `max_message_bytes`: largest response. `gpu_presence` is asked only for requests for a GPU.
  SequenceValidator(const SequenceLimits& limits, uint64_t max_message_bytes,
                    GpuPresenceSource gpu_presence)
      : limits_(limits),
        max_message_bytes_(max_message_bytes),
        gpu_presence_(std::move(gpu_presence)) {}

  // The validated sequence of `header`, which is that of `request`. Fails with INVALID_REQUEST or
  // OPERATOR_NOT_FOUND and every violation, `violations` included, with DEVICE_UNAVAILABLE, or with
  // RESPONSE_TOO_LARGE.
  absl::StatusOr<std::shared_ptr<const SequenceInvocation>> Validate(
      const v1::ExecuteSequenceRequest& request, const SequenceHeader& header,
      std::vector<Violation> violations = {}) const;

 private:
  const SequenceLimits limits_;
  const uint64_t max_message_bytes_;
  const GpuPresenceSource gpu_presence_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_VALIDATE_SEQUENCE_VALIDATOR_H_
