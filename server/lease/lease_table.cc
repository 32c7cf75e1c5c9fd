#include "server/lease/lease_table.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace opserve {
namespace {

// The share of a lease's time for which its device rests afterwards.
constexpr int kRestDivisor = 4;

const LeasableDevice* FindDevice(std::span<const LeasableDevice> devices, absl::string_view name) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [name](const LeasableDevice& d) { return d.name == name; });
  return found == devices.end() ? nullptr : &*found;
}

// What it waits for.
const std::string& TargetOf(const LeaseTable::Lease& lease) {
  return lease.device.empty() ? lease.request.device : lease.device;
}

bool Compete(const LeaseTable::Lease& a, const LeaseTable::Lease& b) {
  return TargetOf(a).empty() || TargetOf(b).empty() || TargetOf(a) == TargetOf(b);
}

}  // namespace

absl::string_view NameOf(LeaseEnd why) {
  switch (why) {
    case LeaseEnd::kExpired:
      return "expired";
    case LeaseEnd::kReleased:
      return "released";
    case LeaseEnd::kByAdmin:
      return "ended by an administrator";
    case LeaseEnd::kSetAside:
      return "device set aside";
    case LeaseEnd::kDraining:
      return "draining";
  }
  return "unknown";
}

std::optional<uint64_t> LeaseTable::Add(LeaseRequest request,
                                        std::shared_ptr<LeaseListener> listener,
                                        Clock::TimePoint now, Refusal& refusal) {
  const std::string& client = request.identity;
  const auto found = clients_.find(client);
  if (found != clients_.end() && found->second.leases >= limits_.max_per_client) {
    refusal = Refusal::kClientIsFull;
    return std::nullopt;
  }
  if (leases_.size() - held_ >= limits_.max_waiting) {
    refusal = Refusal::kAllAreFull;
    return std::nullopt;
  }
  const auto [owner, is_new] = clients_.try_emplace(client);
  // When it had its last one is forgotten: it goes behind those who have waited since then.
  if (is_new) owner->second.last_grant = grants_;
  Lease& lease = leases_.emplace_back();
  lease.number = ++last_number_;
  lease.request = std::move(request);
  lease.listener = std::move(listener);
  lease.asked = now;
  ++owner->second.leases;
  return lease.number;
}

std::optional<LeaseTable::Lease> LeaseTable::Remove(uint64_t number, Clock::TimePoint now) {
  const auto found = std::find_if(leases_.begin(), leases_.end(),
                                  [number](const Lease& lease) { return lease.number == number; });
  if (found == leases_.end()) return std::nullopt;
  const auto owner = clients_.find(found->request.identity);
  if (!found->device.empty()) --owner->second.with_device;
  if (--owner->second.leases == 0) clients_.erase(owner);
  if (found->is_held) {
    --held_;
    rests_[found->device] = now + (now - found->granted) / kRestDivisor;
  }
  Lease removed = std::move(*found);
  leases_.erase(found);
  return removed;
}

LeaseTable::Lease* LeaseTable::Find(absl::string_view id, absl::string_view identity) {
  const auto found = std::find_if(leases_.begin(), leases_.end(), [&](const Lease& lease) {
    return lease.is_held && lease.id == id && lease.request.identity == identity;
  });
  return found == leases_.end() ? nullptr : &*found;
}

std::vector<uint64_t> LeaseTable::Expired(Clock::TimePoint now) const {
  std::vector<uint64_t> expired;
  for (const Lease& lease : leases_) {
    if (lease.is_held && lease.end <= now) expired.push_back(lease.number);
  }
  return expired;
}

std::vector<uint64_t> LeaseTable::OnSetAside(std::span<const LeasableDevice> devices) const {
  std::vector<uint64_t> ended;
  for (const Lease& lease : leases_) {
    const LeasableDevice* const device = FindDevice(devices, lease.device);
    if (lease.is_held && device != nullptr && device->is_set_aside) ended.push_back(lease.number);
  }
  return ended;
}

void LeaseTable::SetDevice(Lease& lease, const std::string& device) {
  Client& owner = clients_[lease.request.identity];
  owner.with_device += (device.empty() ? 0 : 1) - (lease.device.empty() ? 0 : 1);
  lease.device = device;
}

const LeasableDevice* LeaseTable::Choose(const Lease& lease,
                                         std::span<const LeasableDevice> devices,
                                         Clock::TimePoint now) const {
  const LeasableDevice* chosen = nullptr;
  for (const LeasableDevice& device : devices) {
    if (!lease.request.device.empty() && lease.request.device != device.name) continue;
    if (!device.takes_jobs || LeaseOn(device.name) != kNoLease) continue;
    const auto rest = rests_.find(device.name);
    const bool is_busy = device.has_pending || !device.is_idle;
    if (is_busy && rest != rests_.end() && now < rest->second) continue;
    if (chosen == nullptr || (!chosen->is_idle && device.is_idle)) chosen = &device;
  }
  return chosen;
}

void LeaseTable::Assign(std::span<const LeasableDevice> devices, Clock::TimePoint now) {
  std::erase_if(rests_, [now](const auto& rest) { return rest.second <= now; });
  for (Lease& lease : leases_) {
    if (lease.is_held || lease.device.empty()) continue;
    const LeasableDevice* const device = FindDevice(devices, lease.device);
    if (device == nullptr || !device->takes_jobs) SetDevice(lease, "");
  }
  for (Lease* const lease : Waiting()) {
    const LeasableDevice* const device = Choose(*lease, devices, now);
    if (device != nullptr) SetDevice(*lease, device->name);
  }
}

std::vector<LeaseTable::Lease*> LeaseTable::Grantable(std::span<const LeasableDevice> devices) {
  std::vector<Lease*> grantable;
  for (Lease& lease : leases_) {
    if (lease.is_held || lease.device.empty()) continue;
    const LeasableDevice* const device = FindDevice(devices, lease.device);
    if (device == nullptr || device->lease != lease.number) continue;
    if (device->is_idle && device->takes_jobs) grantable.push_back(&lease);
  }
  return grantable;
}

void LeaseTable::Grant(Lease& lease, std::string id, Clock::TimePoint now) {
  lease.is_held = true;
  lease.id = std::move(id);
  lease.granted = now;
  lease.end = now + std::min<Clock::Duration>(lease.request.wanted, limits_.max_time);
  ++held_;
  clients_[lease.request.identity].last_grant = ++grants_;
}

Clock::TimePoint LeaseTable::Renew(Lease& lease, Clock::Duration wanted, Clock::TimePoint now) {
  const Clock::TimePoint last = lease.granted + limits_.max_time;
  // No sum of times overflows.
  wanted = std::min<Clock::Duration>(wanted, limits_.max_time);
  lease.end = std::max(lease.end, std::min(now + wanted, last));
  return lease.end;
}

uint64_t LeaseTable::LeaseOn(absl::string_view device) const {
  for (const Lease& lease : leases_) {
    if (!lease.device.empty() && lease.device == device) return lease.number;
  }
  return kNoLease;
}

std::vector<LeaseTable::Lease*> LeaseTable::Waiting() {
  struct Turn {
    size_t leases_before;  // of the same client
    uint64_t last_grant;
    uint64_t number;
    Lease* lease;
    bool operator<(const Turn& other) const {
      return std::tie(leases_before, last_grant, number) <
             std::tie(other.leases_before, other.last_grant, other.number);
    }
  };
  std::vector<Turn> turns;
  std::map<std::string, size_t> seen;
  for (Lease& lease : leases_) {
    if (!lease.device.empty()) continue;
    const std::string& name = lease.request.identity;
    const Client& client = clients_.at(name);
    turns.push_back({client.with_device + seen[name]++, client.last_grant, lease.number, &lease});
  }
  std::sort(turns.begin(), turns.end());
  std::vector<Lease*> waiting;
  waiting.reserve(turns.size());
  for (const Turn& turn : turns) waiting.push_back(turn.lease);
  return waiting;
}

std::vector<LeaseTable::Place> LeaseTable::InOrder() {
  std::vector<Place> places;
  for (Lease& lease : leases_) {
    if (lease.is_held) places.push_back({&lease, 0});
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.lease->granted, a.lease->number) <
           std::tie(b.lease->granted, b.lease->number);
  });
  std::vector<Lease*> queue;
  for (Lease& lease : leases_) {
    if (!lease.is_held && !lease.device.empty()) queue.push_back(&lease);
  }
  for (Lease* const lease : Waiting()) queue.push_back(lease);
  for (auto lease = queue.begin(); lease != queue.end(); ++lease) {
    const auto before = std::count_if(queue.begin(), lease,
                                      [&](const Lease* other) { return Compete(*other, **lease); });
    places.push_back({*lease, static_cast<size_t>(before) + 1});
  }
  return places;
}

Clock::TimePoint LeaseTable::next_change(Clock::TimePoint now) const {
  Clock::TimePoint next = Clock::kNever;
  bool is_any_waiting = false;
  for (const Lease& lease : leases_) {
    if (lease.is_held) next = std::min(next, lease.end);
    is_any_waiting = is_any_waiting || lease.device.empty();
  }
  if (!is_any_waiting) return next;
  for (const auto& [device, until] : rests_) {
    if (until > now) next = std::min(next, until);
  }
  return next;
}

}  // namespace opserve
