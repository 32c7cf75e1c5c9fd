#include "opserve/errors.h"

#include "absl/types/optional.h"
#include "client/base/status_details.h"
#include "opserve/rpc/status.pb.h"

namespace opserve {
namespace {

// Decodes the payload that holds `Message`, if there is one.
template <class Message>
std::optional<Message> Decode(const absl::Status& status, absl::string_view type_url) {
  const absl::optional<absl::Cord> payload = status.GetPayload(type_url);
  Message message;
  if (!payload || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  return message;
}

}  // namespace

std::vector<FieldViolation> GetViolations(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  if (auto request = Decode<rpc::BadRequest>(status, client_internal::kBadRequestUrl)) {
    for (rpc::BadRequest::FieldViolation& violation : *request->mutable_field_violations()) {
      violations.push_back(
          {std::move(*violation.mutable_field()), std::move(*violation.mutable_description())});
    }
  }
  return violations;
}

std::string GetErrorReason(const absl::Status& status) {
  const auto info = Decode<rpc::ErrorInfo>(status, client_internal::kErrorInfoUrl);
  return info ? info->reason() : "";
}

std::optional<absl::Duration> GetRetryDelay(const absl::Status& status) {
  const auto info = Decode<rpc::RetryInfo>(status, client_internal::kRetryInfoUrl);
  if (!info) return std::nullopt;
  const absl::Duration delay =
      absl::Seconds(info->retry_delay().seconds()) + absl::Nanoseconds(info->retry_delay().nanos());
  return std::max(delay, absl::ZeroDuration());
}

namespace client_internal {

absl::Status MakeStatus(int code, absl::string_view message, absl::string_view details) {
  absl::Status status(static_cast<absl::StatusCode>(code), message);
  rpc::Status decoded;
  if (status.ok() || !decoded.ParseFromString(std::string(details))) return status;
  for (const auto& detail : decoded.details()) {
    status.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
  return status;
}

}  // namespace client_internal
}  // namespace opserve
