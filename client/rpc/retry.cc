#include "client/rpc/retry.h"

#include <algorithm>
#include <cmath>

#include "opserve/errors.h"

namespace opserve::client_internal {

std::optional<absl::Duration> RetryState::OnFailure(const absl::Status& status, absl::Time now,
                                                    double random) {
  if (route_.next == NextHost::kRightOne) return absl::ZeroDuration();
  const std::optional<absl::Duration> asked = GetRetryDelay(status);
  if (!asked && !(may_run_twice_ && absl::IsUnavailable(status))) return std::nullopt;
  if (attempts_ >= policy_.max_attempts) return std::nullopt;

  const double share = policy_.jitter * random;
  const absl::Duration backoff =
      std::min(policy_.max_backoff, policy_.initial_backoff * std::exp2(attempts_ - 1));
  // Jitter shortens our own wait but only ever lengthens the server's: it must not be undercut.
  const absl::Duration wait =
      route_.next == NextHost::kOther
          ? absl::ZeroDuration()
          : std::max(backoff * (1 - share), asked.value_or(absl::ZeroDuration()) * (1 + share));
  if (now + wait >= deadline_) return std::nullopt;
  ++attempts_;
  return wait;
}

absl::Duration RetryState::TimeLeft(absl::Time now) const {
  return std::max(deadline_ - now, absl::ZeroDuration());
}

}  // namespace opserve::client_internal
