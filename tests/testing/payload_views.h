// File: tests/testing/payload_views.h
//
// The payloads inside a generated message, in the form in which server/wire/wire.h takes them.

#ifndef OPSERVE_TESTS_TESTING_PAYLOAD_VIEWS_H_
#define OPSERVE_TESTS_TESTING_PAYLOAD_VIEWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/tensor_bytes.h"
#include "opserve/v1/operator_service.pb.h"

namespace opserve::testing {

inline std::vector<uint64_t> PayloadBytesOf(const v1::ExecuteRequest& request) {
  std::vector<uint64_t> bytes;
  for (const auto& payload : request.payloads()) bytes.push_back(payload.size());
  return bytes;
}

inline std::vector<TensorBytes> PayloadsOf(const v1::ExecuteRequest& request) {
  std::vector<TensorBytes> payloads;
  for (const auto& payload : request.payloads()) {
    payloads.emplace_back(reinterpret_cast<const std::byte*>(payload.data()));
  }
  return payloads;
}

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_TESTING_PAYLOAD_VIEWS_H_
