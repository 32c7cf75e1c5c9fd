// File: client/api/lease_keeper.h
//
// Renews a lease in time.

#ifndef OPSERVE_CLIENT_API_LEASE_KEEPER_H_
#define OPSERVE_CLIENT_API_LEASE_KEEPER_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/base/clock.h"

namespace opserve::client_internal {

// Renews whenever a third of the lease has passed since the renewal before began, so that it
// survives two failures in a row, however long they take: at most that third, which is for `renew`
// to see to. Ends where there is nothing to renew any more: NOT_FOUND. The clock must outlive it.
class LeaseKeeper {
 public:
  // Told what was granted, or why not. May be called when the keeper is gone.
  using Renewed = std::function<void(const absl::StatusOr<absl::Duration>& granted)>;
  // Begins a renewal; called on threads of the clock, and not while the keeper is being destroyed
  // unless the clock runs it already.
  using Renew = std::function<void(Renewed renewed)>;

  LeaseKeeper(ClientClock& clock, absl::Duration lease, Renew renew);
  // From then on no renewal begins.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

 private:
  class Schedule;
  const std::shared_ptr<Schedule> schedule_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_LEASE_KEEPER_H_
