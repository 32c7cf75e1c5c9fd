// File: opserve/errors.h
//
// What opserve's errors say beyond code and message. A server attaches details to its errors; the
// client keeps them as payloads of the absl::Status, and these functions decode them. All are
// stateless, safe to call from any thread, and answer "nothing" for errors without such details.
//
//   auto y = client->Execute(call);
//   for (const FieldViolation& v : GetViolations(y.status())) std::cerr << v.field << '\n';

#ifndef OPSERVE_ERRORS_H_
#define OPSERVE_ERRORS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace opserve {

// One thing that is wrong with a request.
struct FieldViolation {
  // Path of the field in the request: "inputs[1].strides[0]".
  std::string field;
  // What is wrong, the offending value, and what is allowed.
  std::string description;

  bool operator==(const FieldViolation&) const = default;
};

// Every violation that an INVALID_ARGUMENT error lists, in the order of the server.
std::vector<FieldViolation> GetViolations(const absl::Status& status);

// The machine-readable cause, such as "QUEUE_FULL"; empty where the error names none, as errors of
// the network do.
std::string GetErrorReason(const absl::Status& status);

// How long the server asks to wait before trying again.
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

}  // namespace opserve

#endif  // OPSERVE_ERRORS_H_
