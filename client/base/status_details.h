// File: client/base/status_details.h
//
// How the details of an RPC's error travel inside an absl::Status: each google.protobuf.Any becomes
// a payload under its type URL. Stateless and safe to use from any thread.

#ifndef OPSERVE_CLIENT_BASE_STATUS_DETAILS_H_
#define OPSERVE_CLIENT_BASE_STATUS_DETAILS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace opserve::client_internal {

inline constexpr absl::string_view kBadRequestUrl = "type.googleapis.com/google.rpc.BadRequest";
inline constexpr absl::string_view kErrorInfoUrl = "type.googleapis.com/google.rpc.ErrorInfo";
inline constexpr absl::string_view kResourceInfoUrl = "type.googleapis.com/google.rpc.ResourceInfo";
inline constexpr absl::string_view kRetryInfoUrl = "type.googleapis.com/google.rpc.RetryInfo";

// The status of an RPC. `details` is a serialized google.rpc.Status as found in the
// grpc-status-details-bin trailer; what cannot be decoded is left out.
absl::Status MakeStatus(int code, absl::string_view message, absl::string_view details);

// Adds the address of the host that an error is of, for GetErrorHost.
void SetErrorHost(absl::Status& status, absl::string_view host);

// Adds what other hosts said of the call, for GetOtherHosts. Nothing in it has line ends.
void SetOtherHosts(absl::Status& status, const std::vector<std::string>& others);

// The fact `name` of the error's cause, as ErrorInfo has it; empty where there is none.
std::string GetErrorFact(const absl::Status& status, absl::string_view name);

// An error that the client found by itself, with a reason for GetErrorReason. `cause`: what a
// library said of it; may be empty.
absl::Status MakeClientError(absl::StatusCode code, absl::string_view message,
                             absl::string_view reason, absl::string_view cause = {});

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_BASE_STATUS_DETAILS_H_
