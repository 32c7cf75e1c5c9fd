#include "client/api/lease_keeper.h"

#include <utility>

#include "proto/base/mutex.h"

namespace opserve::client_internal {

class LeaseKeeper::Schedule : public std::enable_shared_from_this<Schedule> {
 public:
  Schedule(ClientClock& clock, absl::Duration lease, Renew renew)
      : renew_(std::move(renew)), clock_(&clock), lease_(lease), begin_(clock.Now()) {}

  void Plan() {
    const MutexLock lock(mutex_);
    if (clock_ == nullptr) return;
    const absl::Duration passed = clock_->Now() - begin_;
    clock_->RunAfter(lease_ / 3 - passed, [weak = weak_from_this()] {
      if (const std::shared_ptr<Schedule> self = weak.lock()) self->Begin();
    });
  }

  void Stop() {
    const MutexLock lock(mutex_);
    clock_ = nullptr;
  }

 private:
  void Begin() {
    {
      const MutexLock lock(mutex_);
      if (clock_ == nullptr) return;
      begin_ = clock_->Now();
    }
    renew_([weak = weak_from_this()](const absl::StatusOr<absl::Duration>& granted) {
      if (const std::shared_ptr<Schedule> self = weak.lock()) self->OnRenewed(granted);
    });
  }

  void OnRenewed(const absl::StatusOr<absl::Duration>& granted) {
    if (absl::IsNotFound(granted.status())) return;
    if (granted.ok()) {
      const MutexLock lock(mutex_);
      lease_ = *granted;
    }
    Plan();
  }

  const Renew renew_;
  Mutex mutex_;
  // None once it has stopped.
  ClientClock* clock_ ABSL_GUARDED_BY(mutex_);
  absl::Duration lease_ ABSL_GUARDED_BY(mutex_);
  absl::Time begin_ ABSL_GUARDED_BY(mutex_);  // of the lease, or of its last renewal
};

LeaseKeeper::LeaseKeeper(ClientClock& clock, absl::Duration lease, Renew renew)
    : schedule_(std::make_shared<Schedule>(clock, lease, std::move(renew))) {
  schedule_->Plan();
}

LeaseKeeper::~LeaseKeeper() { schedule_->Stop(); }

}  // namespace opserve::client_internal
