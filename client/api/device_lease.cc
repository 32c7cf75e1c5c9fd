#include "opserve/device_lease.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/api/leases.h"
#include "client/stream/lease_core.h"
#include "opserve/client.h"

namespace opserve {

DeviceLease::DeviceLease(Client& client, std::shared_ptr<client_internal::LeaseCore> core)
    : client_(client), core_(std::move(core)) {}

DeviceLease::~DeviceLease() { core_->Finish(); }

Call<DeviceGrant> DeviceLease::grant() const { return Call<DeviceGrant>(core_->grant()); }

Call<void> DeviceLease::end() const { return Call<void>(core_->end()); }

DeviceLease::State DeviceLease::state() const { return core_->state(); }

uint32_t DeviceLease::position() const { return core_->position(); }

absl::StatusOr<absl::Duration> DeviceLease::Renew(absl::Duration time, const CallOptions& options) {
  const Call<DeviceGrant> granted = grant();
  if (!granted.WaitFor(absl::ZeroDuration())) {
    return absl::FailedPreconditionError("the lease is not granted yet");
  }
  const absl::StatusOr<DeviceGrant> result = granted.Wait();
  if (!result.ok()) {
    return absl::NotFoundError(absl::StrCat("the lease has ended: ", result.status().message()));
  }
  return client_.RenewLease(result->id, time, options);
}

}  // namespace opserve
