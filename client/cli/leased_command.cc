#include "client/cli/leased_command.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/arguments/exit_code.h"
#include "client/cli/caught_signals.h"
#include "client/cli/child_process.h"
#include "client/wire/wire_tensors.h"

namespace opserve::cli {
namespace {

// What a lease of no time is.
constexpr absl::Duration kDefaultTime = absl::Minutes(1);
// A lease that is granted for so much less than was asked for has its longest time.
constexpr absl::Duration kSlack = absl::Milliseconds(100);
// A server that does not answer must not keep the end of the command from being seen.
constexpr absl::Duration kRenewalTimeout = absl::Seconds(5);

// Readable once it was notified. Thread-safe.
class Event {
 public:
  Event() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Event() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  int descriptor() const { return descriptor_; }
  void Notify() const { eventfd_write(descriptor_, 1); }

 private:
  const int descriptor_;
};

// Time that nobody sets.
absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// What is left of the time until a renewal, for poll().
int MillisecondsUntil(absl::Time time) {
  if (time == absl::InfiniteFuture()) return -1;
  const absl::Duration left = absl::Ceil(time - SteadyNow(), absl::Milliseconds(1));
  if (left <= absl::ZeroDuration()) return 0;
  return static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(left), INT_MAX));
}

// When a lease is renewed, and how it was.
class Renewals {
 public:
  Renewals(DeviceLease& lease, const DeviceGrant& grant, absl::Duration time,
           const Terminal& terminal)
      : lease_(lease),
        device_(grant.device),
        time_(time == absl::ZeroDuration() ? kDefaultTime : absl::Ceil(time, absl::Seconds(1))),
        terminal_(terminal) {
    Plan(grant.time);
  }

  // InfiniteFuture: never again.
  absl::Time next() const { return next_; }

  // Renews the lease; one that fails is tried again.
  void Renew() {
    const absl::StatusOr<absl::Duration> left =
        lease_.Renew(time_, {.timeout = std::min(time_ / 3, kRenewalTimeout)});
    if (left.ok()) return Plan(*left);
    next_ = SteadyNow() + time_ / 6;
  }

 private:
  void Plan(absl::Duration left) {
    next_ = SteadyNow() + left / 3;
    if (left > time_ - kSlack) return;
    next_ = absl::InfiniteFuture();
    terminal_.err << "opserve: the server lends " << device_ << " for at most "
                  << absl::FormatDuration(absl::Trunc(left, absl::Milliseconds(100))) << " more"
                  << std::endl;
  }

  DeviceLease& lease_;
  const std::string device_;
  const absl::Duration time_;
  const Terminal& terminal_;
  absl::Time next_;
};

}  // namespace

absl::StatusOr<int> RunLeased(DeviceLease& lease, const DeviceGrant& grant, absl::Duration time,
                              const std::vector<std::string>& command, const Terminal& terminal) {
  // The lease may end on another thread when all of this is over.
  const auto lease_end = std::make_shared<Event>();
  if (lease_end->descriptor() < 0) return absl::ErrnoToStatus(errno, "eventfd");
  // From before the command starts: what ends this process would end the lease, but not the
  // command.
  CaughtSignals signals;
  if (signals.descriptor() < 0) return absl::ErrnoToStatus(errno, "pipe2");
  const auto child = ChildProcess::Start(
      command, absl::StrCat(client_internal::kDeviceLeaseVariable, "=", grant.id));
  if (!child.ok()) return child.status();
  lease.end().Then([lease_end](const absl::Status& /*why*/, const ExecutionInfo& /*info*/) {
    lease_end->Notify();
  });
  Renewals renewals(lease, grant, time, terminal);
  bool has_lease = true;
  while (true) {
    std::array<pollfd, 3> events = {{{(*child)->descriptor(), POLLIN, 0},
                                     {has_lease ? lease_end->descriptor() : -1, POLLIN, 0},
                                     {signals.descriptor(), POLLIN, 0}}};
    const int limit = has_lease ? MillisecondsUntil(renewals.next()) : -1;
    if (poll(events.data(), events.size(), limit) < 0) {
      if (errno == EINTR) continue;
      return absl::ErrnoToStatus(errno, "poll");
    }
    if (events[0].revents != 0) break;
    while (const std::optional<int> number = signals.Take()) (*child)->Signal(*number);
    if (events[1].revents != 0) {
      has_lease = false;
      terminal.err << "opserve: the lease ended before the command: "
                   << lease.end().Wait().message() << "; the command is sent SIGTERM" << std::endl;
      (*child)->Signal(SIGTERM);
    }
    if (has_lease && SteadyNow() >= renewals.next()) renewals.Renew();
  }
  const absl::StatusOr<int> exit_code = (*child)->Wait();
  return has_lease || !exit_code.ok() ? exit_code : absl::StatusOr<int>(kLeaseEnded);
}

}  // namespace opserve::cli
