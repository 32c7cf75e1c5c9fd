#include "server/sequence/sequence_validator.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/errors.h"
#include "server/request_validator.h"
#include "server/sequence/sequence_wire.h"

namespace opserve {
namespace {

constexpr char kNoPlaces[] =
    "Tensors of sequences travel in payloads; other places are not supported.";

// Sequences take all tensors from payloads and return them there.
void CheckPlaces(const v1::ExecuteSequenceRequest& request, std::vector<Violation>& violations) {
  for (int i = 0; i < request.input_places_size(); ++i) {
    if (request.input_places(i).place_case() == v1::TensorPlace::PLACE_NOT_SET) continue;
    violations.push_back({absl::StrCat("input_places[", i, "]"), kNoPlaces});
  }
  for (int i = 0; i < request.outputs_size(); ++i) {
    if (request.outputs(i).place().place_case() == v1::TensorPlace::PLACE_NOT_SET) continue;
    violations.push_back({absl::StrCat("outputs[", i, "].place"), kNoPlaces});
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SequenceInvocation>> SequenceValidator::Validate(
    const v1::ExecuteSequenceRequest& request, std::span<const uint64_t> payload_bytes) const {
  const SequenceHeader header = HeaderOf(request, payload_bytes);
  std::vector<Violation> violations = CheckEnvelope(header);
  CheckPlaces(request, violations);
  SequenceValidationResult result = ValidateSequence(header.call, limits_);
  violations.insert(violations.end(), result.violations.begin(), result.violations.end());
  if (!violations.empty()) return MakeViolationError(violations, result.unknown_operator);
  absl::Status status = CheckDevice(header, has_gpus_);
  if (status.ok()) {
    const SequenceInvocation& sequence = *result.sequence;
    uint64_t bytes = 0;
    // Of at most so many outputs as there may be steps, each below 2^40 bytes.
    for (size_t i = 0; i < sequence.outputs.size(); ++i) bytes += sequence.output_bytes(i);
    status = CheckResponse(bytes, MaxSequenceResponseHeaderBytes(sequence.outputs.size()),
                           max_message_bytes_);
  }
  if (!status.ok()) return status;
  return std::move(result.sequence);
}

}  // namespace opserve
