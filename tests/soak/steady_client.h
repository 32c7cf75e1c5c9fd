// File: tests/soak/steady_client.h
//
// A client that makes the same small calls again and again, so that the server has no reason to
// take more memory for the next than for the last.

#ifndef OPSERVE_TESTS_SOAK_STEADY_CLIENT_H_
#define OPSERVE_TESTS_SOAK_STEADY_CLIENT_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "opserve/client.h"

namespace opserve::testing {

// Not thread-safe.
class SteadyClient {
 public:
  explicit SteadyClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  // Does what `kind` says, once: plain, stream, region, resident, sequence, refused, late, gpu, or
  // mixed, which is each of the others but gpu in turn. An error where the server's answer was not
  // right, or where there is no such kind.
  absl::Status Turn(absl::string_view kind);

 private:
  absl::Status Plain();
  // Four requests in pieces, one of which is cancelled.
  absl::Status Stream();
  // Shares memory anew, and works in it.
  absl::Status Region();
  // Creates a tensor, works in place on it, reads and deletes it.
  absl::Status Resident();
  absl::Status Sequence();
  // A call that must be refused.
  absl::Status Refused();
  // A call whose time is up about when it is answered, and one that has time.
  absl::Status Late();
  absl::Status Gpu();

  const std::unique_ptr<Client> client_;
  // Of mixed turns.
  size_t turns_ = 0;
};

}  // namespace opserve::testing

#endif  // OPSERVE_TESTS_SOAK_STEADY_CLIENT_H_
