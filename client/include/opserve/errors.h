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

// The machine-readable cause, such as "TOO_MANY_BYTES": one of docs/api.md where the server gave
// it, or one of those below where the client found it out by itself. Empty where the error names
// none.
std::string GetErrorReason(const absl::Status& status);

// Options or a target that make no sense; INVALID_ARGUMENT. Nothing was sent.
inline constexpr char kInvalidOptions[] = "INVALID_OPTIONS";
inline constexpr char kInvalidTarget[] = "INVALID_TARGET";
// A bearer token would have left this machine in plain text; INVALID_ARGUMENT. Nothing was sent.
inline constexpr char kTokenNeedsTls[] = "TOKEN_NEEDS_TLS";
// The request has 4 GiB or more, which no message has: a stream takes larger tensors;
// RESOURCE_EXHAUSTED. Nothing was sent. Servers say it of what is above limits of their own.
inline constexpr char kRequestTooLarge[] = "REQUEST_TOO_LARGE";
// There was no answer within ClientOptions::connect_timeout; DEADLINE_EXCEEDED.
inline constexpr char kConnectTimeout[] = "CONNECT_TIMEOUT";
// The rest are UNAVAILABLE: there is no connection, because ...
// ... nobody listens at the target, ...
inline constexpr char kConnectionRefused[] = "CONNECTION_REFUSED";
// ... its host, or its socket file, is not known, ...
inline constexpr char kUnknownHost[] = "UNKNOWN_HOST";
// ... the server speaks plain text, and ClientOptions::tls is set, ...
inline constexpr char kServerWithoutTls[] = "SERVER_WITHOUT_TLS";
// ... the server ended a connection in plain text at once, as those do that want TLS, ...
inline constexpr char kServerWantsTls[] = "SERVER_WANTS_TLS";
// ... none of the authorities that are trusted signed the server's certificate, or it has expired,
inline constexpr char kCertificateNotTrusted[] = "CERTIFICATE_NOT_TRUSTED";
// ... the server's certificate carries another name, ...
inline constexpr char kCertificateOfAnotherName[] = "CERTIFICATE_OF_ANOTHER_NAME";
// ... or the server wants a certificate of the client, and one that it trusts.
inline constexpr char kClientCertificateRefused[] = "CLIENT_CERTIFICATE_REFUSED";

// What a call refers to belongs to another host than the one that it came to, which the fact "host"
// of the error names; FAILED_PRECONDITION, by the server.
inline constexpr char kWrongHost[] = "WRONG_HOST";
// The target has several hosts, and the one that was to keep something does not say its address
// (--advertise), so that nobody could find it again; FAILED_PRECONDITION.
inline constexpr char kHostNotAdvertised[] = "HOST_NOT_ADVERTISED";
// The target has several hosts, and the call is about a single one: connect to that alone;
// FAILED_PRECONDITION. Nothing was sent.
inline constexpr char kOneHostNeeded[] = "ONE_HOST_NEEDED";

// Where the target has several hosts, the address of the one that the error is of, such as
// "ipv4:10.0.0.2:50051". Empty otherwise.
std::string GetErrorHost(const absl::Status& status);

// What the other hosts said that the call went to before, where that differs: their addresses, and
// the reason or the code, such as "ipv4:10.0.0.3:50051: OPERATOR_NOT_FOUND". So hosts show that
// they are of different versions, devices or limits.
std::vector<std::string> GetOtherHosts(const absl::Status& status);

// How long the server asks to wait before trying again.
std::optional<absl::Duration> GetRetryDelay(const absl::Status& status);

// All of a failed call in words for people, without a line end after the last line: the code, the
// message and the reason on the first line, and below, indented by two spaces, a line for each
// violation, what was not found, further facts, and when to try again. "OK" for success.
//
//   INVALID_ARGUMENT: The request has 2 violations; first inputs[0].sizes: The number of dimensions
//   (9) is not supported ...; allowed: 1 to 8. (INVALID_REQUEST)
//     - inputs[0].sizes: The number of dimensions (9) is not supported ...; allowed: 1 to 8.
//     - ...
//     violations: 2
std::string Describe(const absl::Status& status);

}  // namespace opserve

#endif  // OPSERVE_ERRORS_H_
