#include "server/validate/request_validator.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/errors/errors.h"

namespace opserve {

std::vector<Violation> CheckEnvelope(const RequestEnvelope& header) {
  std::vector<Violation> violations;
  if (header.request_id.size() > kMaxRequestIdBytes) {
    violations.push_back(
        {"request_id", absl::StrCat("The id has ", header.request_id.size(), " bytes; at most ",
                                    kMaxRequestIdBytes, " are allowed.")});
  }
  if (!v1::DevicePreference_IsValid(header.device)) {
    violations.push_back({"device", absl::StrCat("There is no device preference ", header.device,
                                                 "; allowed are 0 to 3 (UNSPECIFIED, AUTO, GPU, "
                                                 "CPU).")});
  }
  if (!header.device_lease.empty() && header.device != v1::DEVICE_PREFERENCE_UNSPECIFIED &&
      header.device != v1::DEVICE_PREFERENCE_GPU) {
    violations.push_back({"device", absl::StrCat("A request with a lease of a device runs there; "
                                                 "device ",
                                                 header.device,
                                                 " is not allowed, only "
                                                 "0 and 2 (UNSPECIFIED, GPU).")});
  }
  if (!v1::Priority_IsValid(header.priority)) {
    violations.push_back({"priority", absl::StrCat("There is no priority ", header.priority,
                                                   "; allowed are 0 to 3 (UNSPECIFIED, LOW, "
                                                   "NORMAL, HIGH).")});
  }
  return violations;
}

absl::Status CheckDevice(const RequestEnvelope& envelope, const GpuPresenceSource& gpu_presence) {
  if (envelope.device != v1::DEVICE_PREFERENCE_GPU) return absl::OkStatus();
  switch (gpu_presence()) {
    case GpuPresence::kNone:
      return MakeError(ErrorReason::DEVICE_UNAVAILABLE, "This server has no GPU device.",
                       {{"device", "gpu"}});
    case GpuPresence::kStarting:
      return MakeRetryableError(ErrorReason::DEVICE_UNAVAILABLE,
                                "The GPUs of this server are still starting.",
                                std::chrono::seconds(1), {{"device", "gpu"}});
    case GpuPresence::kThere:
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckResponse(uint64_t result_bytes, uint64_t header_bytes,
                           uint64_t max_message_bytes) {
  // Neither sum nor difference overflows.
  if (header_bytes <= max_message_bytes && result_bytes <= max_message_bytes - header_bytes) {
    return absl::OkStatus();
  }
  return MakeError(
      ErrorReason::RESPONSE_TOO_LARGE,
      absl::StrCat("The result has ", result_bytes, " bytes, too many for a message of at most ",
                   max_message_bytes, "."),
      {{"limit", absl::StrCat(max_message_bytes)}});
}

RequestValidator::RequestValidator(const ValidationLimits& limits, uint64_t max_message_bytes,
                                   size_t cache_entries, GpuPresenceSource gpu_presence)
    : limits_(limits),
      max_message_bytes_(max_message_bytes),
      gpu_presence_(std::move(gpu_presence)),
      cache_(cache_entries) {}

absl::StatusOr<std::shared_ptr<const Invocation>> RequestValidator::Validate(
    const RequestHeader& header, std::vector<Violation> violations) {
  for (Violation& violation : CheckEnvelope(header)) violations.push_back(std::move(violation));
  ValidationLimits limits = limits_;
  if (!header.holds_tensors) limits.max_tensor_bytes = UINT64_MAX;
  // What may be larger than others may is not remembered: others would find it.
  std::string key = header.holds_tensors ? CacheKey(header.call) : std::string();
  std::shared_ptr<const Invocation> invocation = header.holds_tensors ? cache_.Find(key) : nullptr;
  absl::string_view unknown_operator;
  if (invocation == nullptr) {
    ValidationResult result = opserve::Validate(header.call, limits);
    if (result.unknown_operator) unknown_operator = header.call.operator_name;
    invocation = std::move(result.invocation);
    violations.insert(violations.end(), result.violations.begin(), result.violations.end());
    if (invocation != nullptr && header.holds_tensors) cache_.Insert(std::move(key), invocation);
  }
  if (!violations.empty()) return MakeViolationError(violations, unknown_operator);
  absl::Status status = CheckDevice(header, gpu_presence_);
  if (status.ok() && header.answers_in_one_message) {
    status = CheckResponse(invocation->output_bytes, kMaxResponseHeaderBytes, max_message_bytes_);
  }
  if (!status.ok()) return status;
  return invocation;
}

}  // namespace opserve
