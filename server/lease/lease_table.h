// File: server/lease/lease_table.h
//
// The leases of devices: those that hold one, and those that wait, in the order of their turns. No
// thread, lock or clock.

#ifndef OPSERVE_SERVER_LEASE_LEASE_TABLE_H_
#define OPSERVE_SERVER_LEASE_LEASE_TABLE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/base/clock.h"
#include "server/batch/job.h"

namespace opserve {

struct DeviceLeaseLimits {
  // Whether devices can be leased at all.
  bool is_on = true;
  // Longest time that a lease lasts, renewals included.
  std::chrono::seconds max_time = std::chrono::minutes(10);
  // Most leases that one identity holds and waits for.
  size_t max_per_client = 4;
  // Most leases that wait.
  size_t max_waiting = 256;
  // Address of this host, which ids carry; see server/errors/host_ids.h. Empty: they carry none.
  std::string host = {};
};

// Why a lease ended.
enum class LeaseEnd : uint8_t {
  kExpired,   // its time was over
  kReleased,  // it was given back, or its client has gone
  kByAdmin,   // an administrator ended it
  kSetAside,  // an administrator set its device aside
  kDraining,  // the server shuts down
};

// "expired", "released", "ended by an administrator", "device set aside", "draining".
absl::string_view NameOf(LeaseEnd why);

// What a client is told when it has the device.
struct GrantedLease {
  std::string id;
  std::string device;
  uint64_t number = kNoLease;
  Clock::Duration left{};
};

// Who is told of a lease. Called in any thread, with no lock held, one function at a time, but for
// OnEnded, after which nothing that is told matters.
class LeaseListener {
 public:
  virtual ~LeaseListener() = default;
  // Its place among those that wait for the same device; 1 is the next.
  virtual void OnQueued(size_t position) = 0;
  virtual void OnGranted(const GrantedLease& lease) = 0;
  virtual void OnEnded(LeaseEnd why) = 0;
};

// What a client asks for.
struct LeaseRequest {
  // The caller's identity, by which turns and limits go, and the whole of what is known of it; see
  // server/access/caller.h.
  std::string identity;
  std::string client;
  std::string label;
  // Empty: any.
  std::string device;
  Clock::Duration wanted{};
};

// A GPU as the table sees it.
struct LeasableDevice {
  std::string name;
  bool takes_jobs = false;
  bool is_set_aside = false;
  // Whether nothing runs on it, and whether anything waits for it.
  bool is_idle = false;
  bool has_pending = false;
  // The lease that it is reserved for.
  uint64_t lease = kNoLease;
};

// Not thread-safe. Turns go by clients: first to those that have the fewest leases, then to those
// whose last grant is the longest ago, then by age. A client with nothing in here is forgotten, and
// comes back as if the last grant of all had been its own.
//
// A device rests between two leases where requests wait for it: it serves everybody for a quarter
// of the time that the lease before lasted. So leases never keep others from a device for good.
class LeaseTable {
 public:
  struct Lease {
    uint64_t number = kNoLease;
    LeaseRequest request;
    std::shared_ptr<LeaseListener> listener;
    // The device that it has, or that is being made free for it; empty: it waits for its turn.
    std::string device;
    bool is_held = false;
    // The name by which requests use it once it is held.
    std::string id;
    Clock::TimePoint asked = {};
    Clock::TimePoint granted = {};
    Clock::TimePoint end = {};
    // What its listener was told last; 0: nothing yet.
    size_t told_position = 0;
  };

  // Why there was no place.
  enum class Refusal { kClientIsFull, kAllAreFull };

  // A lease and its position among those that wait for the same device; 0 for one that is held.
  struct Place {
    Lease* lease;
    size_t position;
  };

  explicit LeaseTable(const DeviceLeaseLimits& limits) : limits_(limits) {}
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // Adds a lease that waits. Its number, or nothing, with `refusal` set.
  std::optional<uint64_t> Add(LeaseRequest request, std::shared_ptr<LeaseListener> listener,
                              Clock::TimePoint now, Refusal& refusal);

  // Removes a lease; nothing where there is none of that number.
  std::optional<Lease> Remove(uint64_t number, Clock::TimePoint now);

  // The lease that this identity, by which it was asked for, holds under that id; nullptr: none.
  // Valid until it is removed.
  Lease* Find(absl::string_view id, absl::string_view identity);

  // Numbers of the leases whose time is over.
  std::vector<uint64_t> Expired(Clock::TimePoint now) const;
  // Numbers of the leases that hold a device which is set aside.
  std::vector<uint64_t> OnSetAside(std::span<const LeasableDevice> devices) const;

  // Gives free devices to leases whose turn it is, and takes them from leases that have waited for
  // one which takes no jobs any more.
  void Assign(std::span<const LeasableDevice> devices, Clock::TimePoint now);

  // Leases that are to be granted now: their devices are reserved for them, idle, and take jobs.
  std::vector<Lease*> Grantable(std::span<const LeasableDevice> devices);
  // Grants one, under this id. Its time begins.
  void Grant(Lease& lease, std::string id, Clock::TimePoint now);

  // Gives a lease that is held so much time from now on, as far as the limits let it, and no less
  // than it has. When it ends then.
  Clock::TimePoint Renew(Lease& lease, Clock::Duration wanted, Clock::TimePoint now);

  // The number of the lease that has the device or is to get it; kNoLease: none.
  uint64_t LeaseOn(absl::string_view device) const;

  // All leases: those that are held, by the time of their grant, then the others by turn.
  std::vector<Place> InOrder();

  // When Assign or Expired have something to do without any further event; kNever: not at all.
  Clock::TimePoint next_change(Clock::TimePoint now) const;

  bool empty() const { return leases_.empty(); }

 private:
  struct Client {
    size_t leases = 0;
    // Those that have a device, or wait for it to be free.
    size_t with_device = 0;
    // The number of its last grant, which counts up over those of all; before its first one, that
    // of the last one of all when it came.
    uint64_t last_grant = 0;
  };

  // Those that wait for their turn, in that order.
  std::vector<Lease*> Waiting();
  void SetDevice(Lease& lease, const std::string& device);
  const LeasableDevice* Choose(const Lease& lease, std::span<const LeasableDevice> devices,
                               Clock::TimePoint now) const;

  const DeviceLeaseLimits limits_;
  uint64_t last_number_ = kNoLease;
  uint64_t grants_ = 0;
  size_t held_ = 0;
  // By age.
  std::list<Lease> leases_;
  // By the proven part of their identities.
  std::map<std::string, Client> clients_;
  // Until when devices rest; only times to come matter.
  std::map<std::string, Clock::TimePoint> rests_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_LEASE_LEASE_TABLE_H_
