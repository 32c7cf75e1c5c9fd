// Statuses as servers send them, for tests of the client.

#ifndef OPSERVE_TESTS_UNIT_CLIENT_RPC_STATUSES_H_
#define OPSERVE_TESTS_UNIT_CLIENT_RPC_STATUSES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/base/status_details.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::testing {

// As calls end whose server cannot be reached.
inline const absl::Status kGone = absl::UnavailableError("gone");

// An error with a reason, as servers give them.
inline absl::Status WithReason(absl::Status status, absl::string_view reason) {
  rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  status.SetPayload(client_internal::kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

// INVALID_REQUEST whose one violation is of this field.
inline absl::Status Invalid(absl::string_view field) {
  rpc::BadRequest request;
  request.add_field_violations()->set_field(std::string(field));
  absl::Status status = WithReason(absl::InvalidArgumentError("no"), "INVALID_REQUEST");
  status.SetPayload(client_internal::kBadRequestUrl, absl::Cord(request.SerializeAsString()));
  return status;
}

// The same error, said by this host.
inline absl::Status SaidBy(absl::string_view host, absl::Status status) {
  client_internal::SetErrorHost(status, host);
  return status;
}

// RESOURCE_EXHAUSTED that asks to come back after `delay`.
inline absl::Status Exhausted(absl::Duration delay) {
  rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(absl::ToInt64Seconds(delay));
  info.mutable_retry_delay()->set_nanos(
      static_cast<int>(absl::ToInt64Nanoseconds(delay % absl::Seconds(1))));
  absl::Status status = absl::ResourceExhaustedError("full");
  status.SetPayload(client_internal::kRetryInfoUrl, absl::Cord(info.SerializeAsString()));
  return status;
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_CLIENT_RPC_STATUSES_H_
