// File: opserve/device_lease.h
//
// A GPU of the server for this program alone: while it has the lease, nobody else's calls run
// there, so that what it measures repeats.
//
//   auto lease = client->LeaseDevice({.time = absl::Minutes(2)});
//   absl::StatusOr<opserve::DeviceGrant> grant = lease->grant().Wait();
//   if (!grant.ok()) return grant.status();
//   OperatorCall call = ops::Round(x, RoundingMode::kTowardZero);
//   call.device_lease = grant->id;
//   auto y = client->Execute(call);
//
// Calls that name no lease, ask for no device but a GPU and are made by a program whose environment
// has OPSERVE_LEASE run under the lease of that id: see `opserve lease`.

#ifndef OPSERVE_DEVICE_LEASE_H_
#define OPSERVE_DEVICE_LEASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "opserve/call_handle.h"
#include "opserve/options.h"

namespace opserve {

class Client;

namespace client_internal {
class LeaseCore;
}  // namespace client_internal

// What lease is wanted.
struct DeviceLeaseOptions {
  // Name of a GPU, as in DeviceInfo::name; empty: any.
  std::string device = {};
  // How long, rounded up to seconds; 0: a minute. The server may grant less.
  absl::Duration time = absl::ZeroDuration();
  // Shown to administrators; at most 128 bytes.
  std::string label = {};
};

// A GPU that was leased.
struct DeviceGrant {
  // For OperatorCall::device_lease and OperatorSequence::device_lease, in calls of the identity
  // that leased it; to others it is unknown.
  std::string id;
  std::string device;   // as in DeviceInfo::name
  absl::Duration time;  // until the lease ends unless it is renewed
};

// A lease, from its being asked for to its end: made by Client::LeaseDevice, and given back by the
// destructor. The client must outlive it. Thread-safe.
class DeviceLease {
 public:
  enum class State : uint8_t {
    kWaiting,  // for its turn, and for the GPU to be free
    kHeld,
    kEnded,  // its time was over, it was given back, or it was never granted
  };

  // Gives the lease back, and waits until the stream with the server is over. Not to be called by a
  // callback of the client.
  ~DeviceLease();
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;

  // Over once the lease is granted, or cannot be: FAILED_PRECONDITION where the server has no GPU
  // or leases none, NOT_FOUND for a device that there is not, RESOURCE_EXHAUSTED where this client,
  // or all together, have as many leases as they may, ABORTED where an administrator ended it,
  // UNAVAILABLE where the server shuts down or the connection is lost. Cancel gives the lease up.
  Call<DeviceGrant> grant() const;

  // Over once a lease that was granted has ended: OK where it was given back, DEADLINE_EXCEEDED
  // where its time was over, else as above. Where it was never granted, ends like grant().
  Call<void> end() const;

  State state() const;
  // While it waits: its place among the leases that wait for the same GPU, 1 is the next; 0 where
  // the server has not told yet, and once it does not wait any more.
  uint32_t position() const;

  // Has the lease end `time` from now on, rounded up to seconds; 0: in a minute. Returns the time
  // that the server granted: a lease has a longest time from its grant on, and none is shortened.
  // NOT_FOUND once it has ended, FAILED_PRECONDITION before it is granted.
  absl::StatusOr<absl::Duration> Renew(absl::Duration time = absl::ZeroDuration(),
                                       const CallOptions& options = {});

 private:
  friend class Client;

  DeviceLease(Client& client, std::shared_ptr<client_internal::LeaseCore> core);

  Client& client_;
  const std::shared_ptr<client_internal::LeaseCore> core_;
};

// A lease as administrators see it.
struct DeviceLeaseInfo {
  uint64_t number = 0;    // what Client::EndLease takes
  std::string client;     // address or user, and the name that it gives itself
  std::string label;      // as given by the client
  std::string device;     // that it has, or wants; empty: any
  bool held = false;      // whether it has it
  uint32_t position = 0;  // where it waits; 1: the next
  absl::Duration age;     // since it was granted, or asked for where it was not
  absl::Duration left;    // where it has the device
};

}  // namespace opserve

#endif  // OPSERVE_DEVICE_LEASE_H_
