#include "server/errors/errors.h"

#include <algorithm>
#include <exception>
#include <new>
#include <system_error>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "kernels/tensor_bytes.h"
#include "kernels/utf8.h"
#include "opserve/rpc/status.pb.h"

namespace opserve {
namespace {

// Field paths are short; the cap only matters for paths that quote what a client sent.
constexpr size_t kMaxFieldBytes = 64;

// About the time until another server took over or this one is back.
constexpr std::chrono::seconds kRetryWhenDraining{1};

// Other requests end meanwhile and give their memory back.
constexpr std::chrono::seconds kRetryWithoutMemory{1};

absl::Status InternalError(absl::string_view what) {
  return MakeError(ErrorReason::INTERNAL_ERROR, absl::StrCat("The server failed: ", what));
}

void SetDetail(absl::Status& status, absl::string_view url,
               const google::protobuf::MessageLite& message) {
  status.SetPayload(url, absl::Cord(message.SerializeAsString()));
}

void AddViolation(rpc::BadRequest& bad_request, const Violation& violation) {
  auto* added = bad_request.add_field_violations();
  added->set_field(TruncateUtf8(violation.field, kMaxFieldBytes));
  added->set_description(
      TruncateUtf8(violation.description, kMaxViolationBytes - added->field().size()));
}

rpc::BadRequest MakeBadRequest(std::span<const Violation> violations) {
  rpc::BadRequest bad_request;
  const size_t listed = std::min(violations.size(), kMaxReportedViolations);
  for (const Violation& violation : violations.first(listed)) AddViolation(bad_request, violation);
  if (violations.size() > listed) {
    bad_request.add_field_violations()->set_description(
        absl::StrCat(violations.size() - listed, " more violations."));
  }
  return bad_request;
}

}  // namespace

absl::Status MakeError(ErrorReason reason, absl::string_view message,
                       const ErrorMetadata& metadata) {
  rpc::ErrorInfo info;
  info.set_reason(std::string(NameOf(reason)));
  info.set_domain(kErrorDomain);
  for (const auto& [key, value] : metadata) (*info.mutable_metadata())[key] = value;
  absl::Status status(CodeOf(reason), message);
  SetDetail(status, kErrorInfoUrl, info);
  return status;
}

absl::Status MakeRetryableError(ErrorReason reason, absl::string_view message,
                                std::chrono::milliseconds delay, const ErrorMetadata& metadata) {
  absl::Status status = MakeError(reason, message, metadata);
  rpc::RetryInfo retry;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay);
  retry.mutable_retry_delay()->set_seconds(seconds.count());
  retry.mutable_retry_delay()->set_nanos(
      static_cast<int32_t>(std::chrono::nanoseconds(delay - seconds).count()));
  SetDetail(status, kRetryInfoUrl, retry);
  return status;
}

absl::Status OutOfMemoryError() {
  return MakeRetryableError(ErrorReason::OUT_OF_MEMORY,
                            "Memory or a thread for the request could not be had.",
                            kRetryWithoutMemory);
}

absl::Status TensorLostError(absl::string_view device) {
  return MakeError(ErrorReason::TENSOR_LOST,
                   absl::StrCat("The content of a volatile tensor is lost: \"", device,
                                "\" had it alone and has it no more. Write the tensor anew, or "
                                "compute it again."),
                   {{"device", std::string(device)}});
}

absl::Status RequestTooLargeError(absl::string_view method, uint64_t bytes, uint64_t limit) {
  return MakeError(
      ErrorReason::REQUEST_TOO_LARGE,
      absl::StrCat("The request has ", bytes, " bytes; ", method, " takes at most ", limit, "."),
      {{"method", std::string(method)},
       {"bytes", absl::StrCat(bytes)},
       {"limit", absl::StrCat(limit)}});
}

absl::Status ErrorOfException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return OutOfMemoryError();
  } catch (const ContentLost& lost) {
    return TensorLostError(lost.what());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::not_enough_memory) {
      return OutOfMemoryError();
    }
    return InternalError(error.what());
  } catch (const std::exception& error) {
    return InternalError(error.what());
  } catch (...) {
    return InternalError("an exception of unknown type");
  }
}

absl::Status DrainingError() {
  return MakeRetryableError(ErrorReason::DRAINING,
                            "The server is shutting down and takes no new requests.",
                            kRetryWhenDraining);
}

absl::Status MakeViolationError(std::span<const Violation> violations,
                                absl::string_view unknown_operator) {
  const bool not_found = !unknown_operator.empty() && violations.size() == 1;
  const Violation& first = violations.front();
  const std::string field = TruncateUtf8(first.field, kMaxFieldBytes);
  std::string message = absl::StrCat(field, field.empty() ? "" : ": ",
                                     TruncateUtf8(first.description, kMaxViolationBytes));
  if (violations.size() > 1) {
    message = absl::StrCat("The request has ", violations.size(), " violations; first ", message);
  }
  absl::Status status =
      MakeError(not_found ? ErrorReason::OPERATOR_NOT_FOUND : ErrorReason::INVALID_REQUEST, message,
                {{"violations", absl::StrCat(violations.size())}});
  SetDetail(status, kBadRequestUrl, MakeBadRequest(violations));
  if (!unknown_operator.empty()) {
    rpc::ResourceInfo resource;
    resource.set_resource_type("operator");
    resource.set_resource_name(TruncateUtf8(unknown_operator, kMaxFieldBytes));
    if (not_found) resource.set_description(TruncateUtf8(first.description, kMaxViolationBytes));
    SetDetail(status, kResourceInfoUrl, resource);
  }
  return status;
}

std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status) {
  const auto detail = status.GetPayload(kRetryInfoUrl);
  rpc::RetryInfo retry;
  if (!detail || !retry.ParseFromString(std::string(*detail))) return std::nullopt;
  const google::protobuf::Duration& delay = retry.retry_delay();
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::seconds(delay.seconds()) + std::chrono::nanoseconds(delay.nanos()));
}

std::string StatusDetails(const absl::Status& status) {
  rpc::Status message;
  message.set_code(static_cast<int>(status.code()));
  message.set_message(std::string(status.message()));
  for (const char* url : {kErrorInfoUrl, kBadRequestUrl, kResourceInfoUrl, kRetryInfoUrl}) {
    if (const auto payload = status.GetPayload(url)) {
      google::protobuf::Any* detail = message.add_details();
      detail->set_type_url(url);
      detail->set_value(std::string(*payload));
    }
  }
  return message.SerializeAsString();
}

absl::Status MakeViolationError(const Violation& violation) {
  return MakeViolationError({&violation, 1}, "");
}

}  // namespace opserve
