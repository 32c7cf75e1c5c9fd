// Statuses as servers send them, for tests of the client.

#ifndef OPSERVE_TESTS_UNIT_CLIENT_RPC_STATUSES_H_
#define OPSERVE_TESTS_UNIT_CLIENT_RPC_STATUSES_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/base/status_details.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::testing {

// As calls end whose server cannot be reached.
inline const absl::Status kGone = absl::UnavailableError("gone");

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
