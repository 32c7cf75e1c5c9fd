#include "opserve/owned_tensor.h"

#include <optional>
#include <utility>

#include "client/api/lease_keeper.h"

namespace opserve {

struct OwnedTensor::Owned {
  Owned(Client& owner, TensorLease granted) : client(owner), lease(std::move(granted)) {}

  ~Owned() {
    keeper.reset();
    // Waits for a renewal that is about to begin.
    clock.reset();
    if (!is_released) client.StartDeleteTensors({lease.handle});
  }

  void KeepLease() {
    clock = client_internal::MakeSteadyClock();
    CallOptions options;
    // A renewal that is stuck leaves time for another. Without a time the server chooses it.
    if (lease.ttl > absl::ZeroDuration()) options.timeout = lease.ttl / 3;
    keeper.emplace(
        *clock, lease.ttl, [this, options](client_internal::LeaseKeeper::Renewed renewed) {
          client.StartRenewTensors({lease.handle}, lease.ttl, options)
              .Then([renewed = std::move(renewed)](const absl::StatusOr<absl::Duration>& granted,
                                                   const ExecutionInfo&) { renewed(granted); });
        });
  }

  Client& client;
  const TensorLease lease;
  bool is_released = false;
  std::unique_ptr<client_internal::ClientClock> clock;
  std::optional<client_internal::LeaseKeeper> keeper;
};

absl::StatusOr<OwnedTensor> OwnedTensor::Create(Client& client, const TensorView& content,
                                                const ResidentOptions& resident,
                                                LeaseRenewal renewal, const CallOptions& options) {
  absl::StatusOr<TensorLease> lease = client.CreateTensor(content, resident, options);
  if (!lease.ok()) return lease.status();
  return OwnedTensor(client, *std::move(lease), renewal);
}

absl::StatusOr<OwnedTensor> OwnedTensor::Create(Client& client, const TensorSpec& spec,
                                                const ResidentOptions& resident,
                                                LeaseRenewal renewal, const CallOptions& options) {
  absl::StatusOr<TensorLease> lease = client.CreateTensor(spec, resident, options);
  if (!lease.ok()) return lease.status();
  return OwnedTensor(client, *std::move(lease), renewal);
}

OwnedTensor::OwnedTensor(Client& client, TensorLease lease, LeaseRenewal renewal)
    : owned_(std::make_unique<Owned>(client, std::move(lease))) {
  if (renewal == LeaseRenewal::kBackground) owned_->KeepLease();
}

OwnedTensor::~OwnedTensor() = default;
OwnedTensor::OwnedTensor(OwnedTensor&&) noexcept = default;
OwnedTensor& OwnedTensor::operator=(OwnedTensor&&) noexcept = default;

const TensorLease& OwnedTensor::lease() const { return owned_->lease; }

TensorLease OwnedTensor::Release() {
  TensorLease lease = owned_->lease;
  owned_->is_released = true;
  owned_.reset();
  return lease;
}

}  // namespace opserve
