// File: tests/integration/malformed_cases.h
//
// Requests that a server must survive, made by breaking good ones in one place each.

#ifndef OPSERVE_TESTS_INTEGRATION_MALFORMED_CASES_H_
#define OPSERVE_TESTS_INTEGRATION_MALFORMED_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grpcpp/support/status.h"

namespace opserve::testing {

// Limit of the server that the cases are made for.
inline constexpr uint64_t kMalformedMaxMessageBytes = uint64_t{8} << 20;

struct MalformedCase {
  std::string name;   // what is broken, for people
  std::string bytes;  // the message
  grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT;
  // Field that one of the violations must name; "" where the message cannot be read, "*" for any.
  std::string field = "*";
};

// All cases; names are unique.
std::vector<MalformedCase> MalformedCases();

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_MALFORMED_CASES_H_
