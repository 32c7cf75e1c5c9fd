#include "server/lease/device_leases.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

#include "absl/strings/str_cat.h"
#include "proto/base/named_thread.h"
#include "server/errors/errors.h"
#include "server/errors/host_ids.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Reserving a device may leave it idle, which lets a lease be granted, and nothing more.
constexpr int kMostRounds = 3;

// After an exception, for want of memory perhaps.
constexpr Clock::Duration kRetry = seconds(1);

// Far ahead of any end, and no sum of it and a time overflows.
constexpr Clock::Duration kLongestSleep = std::chrono::hours(1);

// Leases end all the time, but not as often as a client that is refused would try again.
constexpr milliseconds kRetryWhenFull = seconds(1);

absl::Status NotFoundError() {
  return MakeError(ErrorReason::DEVICE_LEASE_NOT_FOUND,
                   "There is no such lease of a device; it may have ended.");
}

int64_t Milliseconds(Clock::Duration time) {
  return std::chrono::duration_cast<milliseconds>(time).count();
}

}  // namespace

absl::Status LeasesOffError() {
  return MakeError(ErrorReason::DEVICE_LEASES_OFF, "This server leases no devices.");
}

DeviceLeases::DeviceLeases(const DeviceLeaseLimits& limits, const Clock& clock, Logger& logger)
    : limits_(limits),
      clock_(clock),
      logger_(logger),
      grant_lines_(clock, seconds(1)),
      end_lines_(clock, seconds(1)),
      table_(limits) {}

void DeviceLeases::Start(LeasableDevices& devices) {
  thread_ = StartThread("leases", [this, &devices] { Run(devices); });
}

void DeviceLeases::Stop() {
  {
    MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void DeviceLeases::Wake() {
  MutexLock lock(mutex_);
  is_woken_ = true;
  changed_.NotifyAll();
}

void DeviceLeases::Run(LeasableDevices& devices) {
  for (;;) {
    const Clock::TimePoint next = UpdateOrRetry(devices);
    MutexLock lock(mutex_);
    while (!is_stopping_ && !is_woken_ && clock_.Now() < next) {
      if (next == Clock::kNever) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitFor(mutex_, std::min<Clock::Duration>(next - clock_.Now(), kLongestSleep));
      }
    }
    if (is_stopping_) return;
    is_woken_ = false;
  }
}

Clock::TimePoint DeviceLeases::UpdateOrRetry(LeasableDevices& devices) noexcept {
  try {
    return Update(devices);
  } catch (const std::exception&) {
    return clock_.Now() + kRetry;
  }
}

Clock::TimePoint DeviceLeases::Update(LeasableDevices& devices) {
  Clock::TimePoint next = Clock::kNever;
  bool is_changed = true;
  for (int i = 0; i < kMostRounds && is_changed; ++i) {
    const std::vector<LeasableDevice> list = devices.List();
    Round round;
    {
      MutexLock lock(mutex_);
      round = Decide(list);
    }
    Tell(round);
    is_changed = false;
    for (size_t d = 0; d < list.size(); ++d) {
      if (list[d].lease == round.leases[d]) continue;
      if (list[d].lease != kNoLease) devices.EndReservation(list[d].name);
      if (round.leases[d] != kNoLease) devices.Reserve(list[d].name, round.leases[d]);
      is_changed = true;
    }
    next = round.next;
  }
  return next;
}

DeviceLeases::Round DeviceLeases::Decide(const std::vector<LeasableDevice>& devices) {
  const Clock::TimePoint now = clock_.Now();
  Round round;
  for (const uint64_t number : table_.Expired(now)) {
    round.ended.emplace_back(*table_.Remove(number, now), LeaseEnd::kExpired);
  }
  for (const uint64_t number : table_.OnSetAside(devices)) {
    round.ended.emplace_back(*table_.Remove(number, now), LeaseEnd::kSetAside);
  }
  table_.Assign(devices, now);
  for (LeaseTable::Lease* const lease : table_.Grantable(devices)) {
    table_.Grant(*lease, NewHostId(limits_.host), now);
    round.granted.emplace_back(
        *lease, GrantedLease{lease->id, lease->device, lease->number, lease->end - now});
  }
  bool is_settled = true;
  for (const LeasableDevice& device : devices) {
    round.leases.push_back(table_.LeaseOn(device.name));
    is_settled = is_settled && round.leases.back() == device.lease;
  }
  round.next = table_.next_change(now);
  // Otherwise those that are next may not have to wait at all.
  if (!is_settled) return round;
  for (const LeaseTable::Place& place : table_.InOrder()) {
    if (place.position == 0 || place.position == place.lease->told_position) continue;
    place.lease->told_position = place.position;
    round.queued.emplace_back(place.lease->listener, place.position);
  }
  return round;
}

void DeviceLeases::Tell(const Round& round) {
  for (const auto& [lease, why] : round.ended) TellEnd(lease, why);
  for (const auto& [lease, granted] : round.granted) {
    LogGrant(lease);
    lease.listener->OnGranted(granted);
  }
  for (const auto& [listener, position] : round.queued) listener->OnQueued(position);
}

void DeviceLeases::LogGrant(const LeaseTable::Lease& lease) {
  if (const auto held_back = grant_lines_.Pass()) {
    logger_.Log(LogLevel::kInfo, "device leased",
                {{"lease", lease.number},
                 {"device", lease.device},
                 {"client", lease.request.client},
                 {"label", lease.request.label},
                 {"waited_ms", Milliseconds(lease.granted - lease.asked)},
                 {"time_ms", Milliseconds(lease.end - lease.granted)},
                 {"not_logged", *held_back}});
  }
}

void DeviceLeases::TellEnd(const LeaseTable::Lease& lease, LeaseEnd why) {
  if (lease.is_held) {
    if (const auto held_back = end_lines_.Pass()) {
      logger_.Log(LogLevel::kInfo, "device lease ended",
                  {{"lease", lease.number},
                   {"device", lease.device},
                   {"client", lease.request.client},
                   {"why", NameOf(why)},
                   {"held_ms", Milliseconds(clock_.Now() - lease.granted)},
                   {"not_logged", *held_back}});
    }
  }
  lease.listener->OnEnded(why);
}

absl::Status DeviceLeases::Refuse(LeaseTable::Refusal refusal) const {
  const bool is_of_client = refusal == LeaseTable::Refusal::kClientIsFull;
  const size_t limit = is_of_client ? limits_.max_per_client : limits_.max_waiting;
  return MakeRetryableError(
      ErrorReason::DEVICE_LEASE_QUOTA,
      is_of_client ? absl::StrCat("This client holds and waits for ", limit,
                                  " leases of devices already, which is as many as it may.")
                   : absl::StrCat("All clients together wait for ", limit,
                                  " leases of devices already, which is as many as they may."),
      kRetryWhenFull,
      {{"scope", is_of_client ? "client" : "server"}, {"limit", absl::StrCat(limit)}});
}

absl::StatusOr<uint64_t> DeviceLeases::Ask(LeaseRequest request,
                                           std::shared_ptr<LeaseListener> listener) {
  if (!limits_.is_on) {
    return LeasesOffError();
  }
  LeaseTable::Refusal refusal{};
  std::optional<uint64_t> number;
  {
    MutexLock lock(mutex_);
    if (is_closed_) return DrainingError();
    number = table_.Add(std::move(request), std::move(listener), clock_.Now(), refusal);
    if (number) {
      is_woken_ = true;
      changed_.NotifyAll();
    }
  }
  if (!number) return Refuse(refusal);
  return *number;
}

absl::StatusOr<uint64_t> DeviceLeases::Find(absl::string_view id,
                                            absl::string_view identity) const {
  MutexLock lock(mutex_);
  const LeaseTable::Lease* const lease = table_.Find(id, identity);
  // The thread may be late with the end of a lease.
  if (lease == nullptr || lease->end <= clock_.Now()) {
    return NotFoundHere(id, limits_.host, NotFoundError());
  }
  return lease->number;
}

absl::StatusOr<Clock::Duration> DeviceLeases::Renew(absl::string_view id,
                                                    absl::string_view identity,
                                                    Clock::Duration wanted) {
  MutexLock lock(mutex_);
  const Clock::TimePoint now = clock_.Now();
  LeaseTable::Lease* const lease = table_.Find(id, identity);
  if (lease == nullptr || lease->end <= now) {
    return NotFoundHere(id, limits_.host, NotFoundError());
  }
  // The thread wakes at the end that it knows, and sees that there is a later one.
  return table_.Renew(*lease, wanted, now) - now;
}

absl::Status DeviceLeases::Release(absl::string_view id, absl::string_view identity) {
  const absl::StatusOr<uint64_t> number = Find(id, identity);
  return number.ok() ? End(*number, LeaseEnd::kReleased) : number.status();
}

absl::Status DeviceLeases::End(uint64_t number, LeaseEnd why) {
  std::optional<LeaseTable::Lease> ended;
  {
    MutexLock lock(mutex_);
    ended = table_.Remove(number, clock_.Now());
    is_woken_ = true;
    changed_.NotifyAll();
  }
  if (!ended) return NotFoundError();
  TellEnd(*ended, why);
  return absl::OkStatus();
}

void DeviceLeases::Close() {
  std::vector<LeaseTable::Lease> ended;
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    const Clock::TimePoint now = clock_.Now();
    for (const LeaseTable::Place& place : table_.InOrder()) {
      ended.push_back(*table_.Remove(place.lease->number, now));
    }
    is_woken_ = true;
    changed_.NotifyAll();
  }
  for (const LeaseTable::Lease& lease : ended) TellEnd(lease, LeaseEnd::kDraining);
}

std::vector<DeviceLeaseView> DeviceLeases::List() const {
  std::vector<DeviceLeaseView> views;
  MutexLock lock(mutex_);
  const Clock::TimePoint now = clock_.Now();
  for (const LeaseTable::Place& place : table_.InOrder()) {
    const LeaseTable::Lease& lease = *place.lease;
    DeviceLeaseView& view = views.emplace_back();
    view.number = lease.number;
    view.identity = lease.request.identity;
    view.client = lease.request.client;
    view.label = lease.request.label;
    view.device = lease.device.empty() ? lease.request.device : lease.device;
    view.is_held = lease.is_held;
    view.position = place.position;
    view.age = now - (lease.is_held ? lease.granted : lease.asked);
    if (lease.is_held) view.left = std::max(lease.end - now, Clock::Duration::zero());
  }
  return views;
}

}  // namespace opserve
