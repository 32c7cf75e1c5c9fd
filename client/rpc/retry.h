// File: client/rpc/retry.h
//
// Decides whether and when a failed call is tried again. Pure: no clock, no random source, no
// waiting. Not thread-safe; each call has its own.

#ifndef OPSERVE_CLIENT_RPC_RETRY_H_
#define OPSERVE_CLIENT_RPC_RETRY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/rpc/route.h"
#include "opserve/options.h"

namespace opserve::client_internal {

// The attempts of one call.
class RetryState {
 public:
  // `is_idempotent`: whether the call may run twice. Where it may not, only those errors are not
  // final by which the server tells that it did not run: those that carry a delay.
  RetryState(const RetryPolicy& policy, absl::Time deadline, bool is_idempotent = true)
      : policy_(policy),
        deadline_(deadline),
        is_idempotent_(is_idempotent),
        may_run_twice_(is_idempotent) {}

  // Tells how an attempt failed, whose route has been judged. Returns the time to wait before the
  // next one, or nullopt if there is to be none: the error is final, the attempts are used up, or
  // the deadline comes first. Another host need not be waited for, and is also asked where the one
  // that failed lacks what the call needs. `random` is uniform in [0, 1).
  std::optional<absl::Duration> OnFailure(const absl::Status& status, absl::Time now,
                                          double random);

  // Adds to the error that the call ends with what other hosts said of it, where that differs.
  void AddOtherHosts(absl::Status& status) const;

  // Begins a further call under the same deadline. `may_run_twice`: whether that one may, where the
  // calls may at all. `attempts_before`: those that were made of it in another form.
  void StartOver(bool may_run_twice = true, int attempts_before = 0) {
    attempts_ = attempts_before + 1;
    route_ = {};
    was_redirected_ = false;
    said_.clear();
    may_run_twice_ = is_idempotent_ && may_run_twice;
  }

  // Where the attempts of the call of now went, and the next one may go.
  Route& route() { return route_; }

  // Attempts so far, the one in progress included.
  int attempts() const { return attempts_; }

  // Whether the policy has another attempt.
  bool has_attempts_left() const { return attempts_ < policy_.max_attempts; }

  // Time left for an attempt that starts now; never negative.
  absl::Duration TimeLeft(absl::Time now) const;

 private:
  // What a host said of the call.
  struct Said {
    std::string host;
    std::string what;
  };
  static Said SaidBy(const absl::Status& status);
  // Whether another host may do what the one of the failed attempt cannot.
  bool MayGoElsewhere(const absl::Status& status) const;

  RetryPolicy policy_;
  absl::Time deadline_;
  bool is_idempotent_;
  bool may_run_twice_;  // the call of now
  int attempts_ = 1;
  Route route_;
  bool was_redirected_ = false;  // to the right host, of which there is one
  std::vector<Said> said_;       // by the hosts that failed, where there are several
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_RETRY_H_
