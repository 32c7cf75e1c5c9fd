// File: server/errors/errors.h
//
// Makes the errors of the server: absl::Status values that carry their google.rpc details as
// payloads, keyed by type URL. rpc_status.h turns them into what gRPC sends. All functions are
// stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_ERRORS_ERRORS_H_
#define OPSERVE_SERVER_ERRORS_ERRORS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/validate.h"
#include "opserve/error_reasons.h"

namespace opserve {

// Type URLs of the details, in the order in which clients get them.
inline constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";
inline constexpr char kBadRequestUrl[] = "type.googleapis.com/google.rpc.BadRequest";
inline constexpr char kResourceInfoUrl[] = "type.googleapis.com/google.rpc.ResourceInfo";
inline constexpr char kRetryInfoUrl[] = "type.googleapis.com/google.rpc.RetryInfo";

// Caps that keep an error below gRPC's soft limit of 8 KiB for metadata.
inline constexpr size_t kMaxReportedViolations = 16;
inline constexpr size_t kMaxViolationBytes = 256;  // field and description together

// Further facts of an error, for ErrorInfo.metadata.
using ErrorMetadata = std::vector<std::pair<std::string, std::string>>;

// An error with CodeOf(reason) and an ErrorInfo.
absl::Status MakeError(ErrorReason reason, absl::string_view message,
                       const ErrorMetadata& metadata = {});

// The same, with a RetryInfo: the client should try again after `delay`.
absl::Status MakeRetryableError(ErrorReason reason, absl::string_view message,
                                std::chrono::milliseconds delay,
                                const ErrorMetadata& metadata = {});

// OUT_OF_MEMORY: the tensors of a request do not fit.
absl::Status OutOfMemoryError();

// TENSOR_LOST: what `device` had alone.
absl::Status TensorLostError(absl::string_view device);

// REQUEST_TOO_LARGE: a request of `method`, such as "/opserve.v1.OperatorService/Execute", has more
// bytes than the method takes.
absl::Status RequestTooLargeError(absl::string_view method, uint64_t bytes, uint64_t limit);

// What a call fails with that threw the exception which is being handled: OUT_OF_MEMORY where
// memory or a thread could not be had, otherwise INTERNAL_ERROR. Only in a catch block.
absl::Status ErrorOfException();

// DRAINING: the request came, or still waited, when the server began to shut down.
absl::Status DrainingError();

// The error of a request with `violations`, of which there is at least one. INVALID_REQUEST, or
// OPERATOR_NOT_FOUND if the only violation is that `unknown_operator` names no operator (empty: the
// operator is known). Violations beyond the caps are counted, not listed.
absl::Status MakeViolationError(std::span<const Violation> violations,
                                absl::string_view unknown_operator);

// INVALID_REQUEST for a single violation.
absl::Status MakeViolationError(const Violation& violation);

// When to try again; nullopt where `status` has no RetryInfo.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);

// `status`, which must not be OK, as a serialised google.rpc.Status: code, message and all details.
std::string StatusDetails(const absl::Status& status);

}  // namespace opserve

#endif  // OPSERVE_SERVER_ERRORS_ERRORS_H_
