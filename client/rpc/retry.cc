#include "client/rpc/retry.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_details.h"
#include "client/rpc/host_refusal.h"
#include "opserve/errors.h"

namespace opserve::client_internal {

std::optional<absl::Duration> RetryState::OnFailure(const absl::Status& status, absl::Time now,
                                                    double random) {
  if (route_.next == NextHost::kRightOne && !std::exchange(was_redirected_, true)) {
    return absl::ZeroDuration();
  }
  if (Said said = SaidBy(status); !said.host.empty()) said_.push_back(std::move(said));
  const std::optional<absl::Duration> asked = GetRetryDelay(status);
  const bool goes_elsewhere = MayGoElsewhere(status);
  if (!asked && !goes_elsewhere && !(may_run_twice_ && absl::IsUnavailable(status))) {
    return std::nullopt;
  }
  if (!has_attempts_left()) return std::nullopt;

  const double share = policy_.jitter * random;
  const absl::Duration backoff =
      std::min(policy_.max_backoff, policy_.initial_backoff * std::exp2(attempts_ - 1));
  // Jitter shortens our own wait but only ever lengthens the server's: it must not be undercut.
  const absl::Duration wait =
      route_.next == NextHost::kOther || goes_elsewhere
          ? absl::ZeroDuration()
          : std::max(backoff * (1 - share), asked.value_or(absl::ZeroDuration()) * (1 + share));
  if (now + wait >= deadline_) return std::nullopt;
  ++attempts_;
  return wait;
}

bool RetryState::MayGoElsewhere(const absl::Status& status) const {
  if (route_.next != NextHost::kOther && route_.next != NextHost::kNamed) return false;
  const HostRefusal refusal = HostRefusalOf(status);
  return refusal == HostRefusal::kCertain || (refusal == HostRefusal::kPerhaps && may_run_twice_);
}

RetryState::Said RetryState::SaidBy(const absl::Status& status) {
  std::string reason = GetErrorReason(status);
  return {GetErrorHost(status),
          reason.empty() ? absl::StatusCodeToString(status.code()) : std::move(reason)};
}

void RetryState::AddOtherHosts(absl::Status& status) const {
  const Said last = SaidBy(status);
  std::vector<std::string> others;
  for (const Said& said : said_) {
    if (said.host == last.host || said.what == last.what) continue;
    std::string text = absl::StrCat(said.host, ": ", said.what);
    if (std::ranges::find(others, text) == others.end()) others.push_back(std::move(text));
  }
  if (!others.empty()) SetOtherHosts(status, others);
}

absl::Duration RetryState::TimeLeft(absl::Time now) const {
  return std::max(deadline_ - now, absl::ZeroDuration());
}

}  // namespace opserve::client_internal
