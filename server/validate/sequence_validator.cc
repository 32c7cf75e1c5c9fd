#include "server/validate/sequence_validator.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"
#include "server/validate/request_validator.h"

namespace opserve {
namespace {

// Bytes of the results that go into the message. The sum cannot overflow: there are at most as many
// outputs as there may be steps, each below 2^40 bytes.
uint64_t BytesInMessage(const v1::ExecuteSequenceRequest& request,
                        const SequenceInvocation& sequence) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < sequence.outputs.size(); ++i) {
    const int index = static_cast<int>(i);
    const bool is_elsewhere =
        index < request.outputs_size() &&
        request.outputs(index).place().place_case() != v1::TensorPlace::PLACE_NOT_SET;
    if (!is_elsewhere) bytes += sequence.output_bytes(i);
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SequenceInvocation>> SequenceValidator::Validate(
    const v1::ExecuteSequenceRequest& request, const SequenceHeader& header,
    std::vector<Violation> violations) const {
  const std::vector<Violation> of_envelope = CheckEnvelope(header);
  violations.insert(violations.end(), of_envelope.begin(), of_envelope.end());
  SequenceLimits limits = limits_;
  if (!header.holds_tensors) limits.tensors.max_tensor_bytes = kHighestTensorLimit;
  SequenceValidationResult result = ValidateSequence(header.call, limits);
  violations.insert(violations.end(), result.violations.begin(), result.violations.end());
  if (!violations.empty()) return MakeViolationError(violations, result.unknown_operator);
  absl::Status status = CheckDevice(header, gpu_presence_);
  if (status.ok() && header.answers_in_one_message) {
    const SequenceInvocation& sequence = *result.sequence;
    status =
        CheckResponse(BytesInMessage(request, sequence),
                      MaxSequenceResponseHeaderBytes(sequence.outputs.size()), max_message_bytes_);
  }
  if (!status.ok()) return status;
  return std::move(result.sequence);
}

}  // namespace opserve
