#include "opserve/errors.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/optional.h"
#include "client/base/status_details.h"
#include "opserve/rpc/status.pb.h"

namespace opserve {
namespace {

// Whose reasons these are: the server's have "opserve".
constexpr char kClientDomain[] = "opserve.client";

// The payload with the address of a host.
constexpr char kErrorHostUrl[] = "opserve.client/host";
// The payload with what other hosts said, a line each.
constexpr char kOtherHostsUrl[] = "opserve.client/other-hosts";

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

std::string GetErrorHost(const absl::Status& status) {
  return std::string(status.GetPayload(kErrorHostUrl).value_or(absl::Cord()));
}

std::vector<std::string> GetOtherHosts(const absl::Status& status) {
  const std::string lines(status.GetPayload(kOtherHostsUrl).value_or(absl::Cord()));
  return absl::StrSplit(lines, '\n', absl::SkipEmpty());
}

std::optional<absl::Duration> GetRetryDelay(const absl::Status& status) {
  const auto info = Decode<rpc::RetryInfo>(status, client_internal::kRetryInfoUrl);
  if (!info) return std::nullopt;
  const absl::Duration delay =
      absl::Seconds(info->retry_delay().seconds()) + absl::Nanoseconds(info->retry_delay().nanos());
  return std::max(delay, absl::ZeroDuration());
}

std::string Describe(const absl::Status& status) {
  if (status.ok()) return "OK";
  std::string text = absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
  const auto info = Decode<rpc::ErrorInfo>(status, client_internal::kErrorInfoUrl);
  if (info && !info->reason().empty()) absl::StrAppend(&text, " (", info->reason(), ")");
  for (const FieldViolation& violation : GetViolations(status)) {
    absl::StrAppend(&text, "\n  - ", violation.field, violation.field.empty() ? "" : ": ",
                    violation.description);
  }
  if (auto resource = Decode<rpc::ResourceInfo>(status, client_internal::kResourceInfoUrl)) {
    absl::StrAppend(&text, "\n  ", resource->resource_type(), " '", resource->resource_name(), "'",
                    resource->description().empty() ? "" : ": ", resource->description());
  }
  if (info) {
    // A map of protobuf has no order.
    const std::map<std::string, std::string> facts(info->metadata().begin(),
                                                   info->metadata().end());
    for (const auto& [name, value] : facts) absl::StrAppend(&text, "\n  ", name, ": ", value);
  }
  const std::string host = GetErrorHost(status);
  if (!host.empty()) absl::StrAppend(&text, "\n  said by: ", host);
  for (const std::string& other : GetOtherHosts(status)) {
    absl::StrAppend(&text, "\n  other host: ", other);
  }
  if (const std::optional<absl::Duration> delay = GetRetryDelay(status)) {
    absl::StrAppend(&text, "\n  try again in ", absl::FormatDuration(*delay));
  }
  return text;
}

namespace client_internal {

void SetErrorHost(absl::Status& status, absl::string_view host) {
  status.SetPayload(kErrorHostUrl, absl::Cord(host));
}

void SetOtherHosts(absl::Status& status, const std::vector<std::string>& others) {
  status.SetPayload(kOtherHostsUrl, absl::Cord(absl::StrJoin(others, "\n")));
}

std::string GetErrorFact(const absl::Status& status, absl::string_view name) {
  const auto info = Decode<rpc::ErrorInfo>(status, kErrorInfoUrl);
  if (!info) return {};
  const auto found = info->metadata().find(std::string(name));
  return found == info->metadata().end() ? std::string() : found->second;
}

absl::Status MakeClientError(absl::StatusCode code, absl::string_view message,
                             absl::string_view reason, absl::string_view cause) {
  rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain(kClientDomain);
  if (!cause.empty()) (*info.mutable_metadata())["cause"] = std::string(cause);
  absl::Status status(code, message);
  status.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

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
