// File: tests/unit/server/errors/status_testing.h
//
// Looks into the errors of server/errors/errors.h.

#ifndef OPSERVE_TESTS_UNIT_SERVER_ERRORS_STATUS_TESTING_H_
#define OPSERVE_TESTS_UNIT_SERVER_ERRORS_STATUS_TESTING_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "opserve/rpc/status.pb.h"
#include "server/errors/errors.h"

namespace opserve::testing {

// The detail of `status` under `url`, or nullopt.
template <class Message>
std::optional<Message> Detail(const absl::Status& status, const char* url) {
  const auto payload = status.GetPayload(url);
  Message message;
  if (!payload || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  return message;
}

// ErrorInfo.reason; "OK" for a status that is OK, "none" where there is no ErrorInfo.
inline std::string ReasonOf(const absl::Status& status) {
  if (status.ok()) return "OK";
  const auto info = Detail<rpc::ErrorInfo>(status, kErrorInfoUrl);
  return info ? info->reason() : "none";
}

inline bool MayRetry(const absl::Status& status) {
  return status.GetPayload(kRetryInfoUrl).has_value();
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_UNIT_SERVER_ERRORS_STATUS_TESTING_H_
