// File: server/lease/device_leases.h
//
// Has devices leased: grants leases once their devices are free, ends them when their time is over,
// and tells their clients.

#ifndef OPSERVE_SERVER_LEASE_DEVICE_LEASES_H_
#define OPSERVE_SERVER_LEASE_DEVICE_LEASES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/base/mutex.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/lease/lease_table.h"

namespace opserve {

// The devices that can be leased. Thread-safe.
class LeasableDevices {
 public:
  virtual ~LeasableDevices() = default;
  virtual std::vector<LeasableDevice> List() const = 0;
  // Starts only work of this lease on the device from now on, which is not reserved; what runs
  // there goes on.
  virtual void Reserve(const std::string& device, uint64_t lease) = 0;
  // Ends that.
  virtual void EndReservation(const std::string& device) = 0;
};

// A lease as administrators see it; the id is its client's alone.
struct DeviceLeaseView {
  uint64_t number = kNoLease;
  // Who asked for it, and the whole of what is known of the caller; see server/access/caller.h.
  std::string identity;
  std::string client;
  std::string label;
  // That it has or that is being made free for it, else the one that it asked for; empty: any.
  std::string device;
  bool is_held = false;
  // Where it is not held; 1: the next.
  size_t position = 0;
  // Since it was granted, or asked for where it is not.
  Clock::Duration age{};
  // Where it is held.
  Clock::Duration left{};
};

// DEVICE_LEASES_OFF.
absl::Status LeasesOffError();

// Thread-safe, but for Start and Stop. Listeners are called with no lock held.
class DeviceLeases {
 public:
  // Clock and logger must outlive the leases.
  DeviceLeases(const DeviceLeaseLimits& limits, const Clock& clock, Logger& logger);
  ~DeviceLeases() { Stop(); }
  DeviceLeases(const DeviceLeases&) = delete;
  DeviceLeases& operator=(const DeviceLeases&) = delete;

  // Starts a thread that calls Update whenever there is something to do. At most once. `devices`
  // must live until Stop.
  void Start(LeasableDevices& devices);
  // Ends the thread. Nothing is granted any more, and no listener is told by it.
  void Stop();

  // Tells the thread that something has changed about the devices. Also before Start.
  void Wake();

  // Has a client wait for a lease; its number. DEVICE_LEASES_OFF, DEVICE_LEASE_QUOTA, DRAINING.
  absl::StatusOr<uint64_t> Ask(LeaseRequest request, std::shared_ptr<LeaseListener> listener);

  // The number of the lease that is held under that id, for the jobs that run under it.
  // DEVICE_LEASE_NOT_FOUND where there is none, and so where another identity asked for it: nobody
  // learns by an id that it is one.
  absl::StatusOr<uint64_t> Find(absl::string_view id, absl::string_view identity) const;
  // Extends such a lease; the time that it has from now on. DEVICE_LEASE_NOT_FOUND.
  absl::StatusOr<Clock::Duration> Renew(absl::string_view id, absl::string_view identity,
                                        Clock::Duration wanted);
  // Ends such a lease. DEVICE_LEASE_NOT_FOUND.
  absl::Status Release(absl::string_view id, absl::string_view identity);
  // Ends a lease by its number, for the reason given, whosoever it is, also where it waits.
  // DEVICE_LEASE_NOT_FOUND.
  absl::Status End(uint64_t number, LeaseEnd why);

  // Ends all leases, and refuses all that come.
  void Close();

  // All leases, as ListLeases orders them.
  std::vector<DeviceLeaseView> List() const;

  const DeviceLeaseLimits& limits() const { return limits_; }

  // Does what is due: ends, reserves and grants. Returns when it is to be called again without any
  // further event. Only by one thread at a time; Start's thread is one.
  Clock::TimePoint Update(LeasableDevices& devices);

 private:
  // What one look at leases and devices leads to.
  struct Round {
    std::vector<std::pair<LeaseTable::Lease, LeaseEnd>> ended;
    // Listeners, and what they are to be told.
    std::vector<std::pair<std::shared_ptr<LeaseListener>, size_t>> queued;
    std::vector<std::pair<LeaseTable::Lease, GrantedLease>> granted;
    // The lease of each device, in their order.
    std::vector<uint64_t> leases;
    Clock::TimePoint next = Clock::kNever;
  };

  void Run(LeasableDevices& devices);
  Clock::TimePoint UpdateOrRetry(LeasableDevices& devices) noexcept;
  Round Decide(const std::vector<LeasableDevice>& devices) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const Round& round);
  void TellEnd(const LeaseTable::Lease& lease, LeaseEnd why);
  void LogGrant(const LeaseTable::Lease& lease);
  absl::Status Refuse(LeaseTable::Refusal refusal) const;

  const DeviceLeaseLimits limits_;
  const Clock& clock_;
  Logger& logger_;
  RateLimiter grant_lines_;
  RateLimiter end_lines_;
  mutable Mutex mutex_;
  CondVar changed_;
  mutable LeaseTable table_ ABSL_GUARDED_BY(mutex_);
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_LEASE_DEVICE_LEASES_H_
