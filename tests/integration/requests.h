// File: tests/integration/requests.h
//
// Requests as clients send them, and what is inside the answers.

#ifndef OPSERVE_TESTS_INTEGRATION_REQUESTS_H_
#define OPSERVE_TESTS_INTEGRATION_REQUESTS_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "grpcpp/support/status.h"
#include "opserve/error_reasons.h"
#include "opserve/rpc/status.pb.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The bytes of `values`, as payloads carry them.
template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// The values that `bytes` are.
template <class T>
std::vector<T> ValuesOf(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Appends an input tensor and its payload.
void AddInput(v1::ExecuteRequest& request, v1::DataType type, const std::vector<uint32_t>& sizes,
              std::string payload);

// Appends an enum attribute.
void AddEnum(v1::ExecuteRequest& request, const std::string& name, const std::string& value);
void AddFloat(v1::ExecuteRequest& request, const std::string& name, double value);

// ELEMENT_WISE_ROUND of a vector, ties to even.
v1::ExecuteRequest RoundRequest(const std::vector<float>& values);

// Elements of all values, as a byte pattern makes them.
std::string Pattern(size_t bytes, uint32_t seed);

// ELEMENT_WISE_IF of FLOAT32 vectors: the first of three inputs has a quarter of the bytes of the
// others.
v1::ExecuteRequest IfRequest(uint32_t count);

// The google.rpc.Status of an error; empty where there is none.
rpc::Status DetailsOf(const grpc::Status& status);

// The detail of type Message, named like the original google.rpc one; empty where there is none.
template <class Message>
Message DetailOf(const grpc::Status& status) {
  Message message;
  const std::string url = "type.googleapis.com/google.rpc." + Message::descriptor()->name();
  const rpc::Status details = DetailsOf(status);
  for (const auto& detail : details.details()) {
    if (detail.type_url() == url) message.ParseFromString(detail.value());
  }
  return message;
}

// ErrorInfo.reason; empty where there is none.
std::string ReasonOf(const grpc::Status& status);

// The violations as "field: description" lines.
std::vector<std::string> ViolationsOf(const grpc::Status& status);

// Whether the error tells when to try again.
bool MayRetry(const grpc::Status& status);

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_INTEGRATION_REQUESTS_H_
