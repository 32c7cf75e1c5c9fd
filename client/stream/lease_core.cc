#include "client/stream/lease_core.h"

#include <string>
#include <utility>

#include "client/wire/message.h"
#include "client/wire/wire.h"

namespace opserve::client_internal {
namespace {

// What the end of a lease means to who waits for it.
absl::Status StatusOf(v1::DeviceLeaseEnd why) {
  switch (why) {
    case v1::DEVICE_LEASE_END_RELEASED:
      return absl::OkStatus();
    case v1::DEVICE_LEASE_END_EXPIRED:
      return absl::DeadlineExceededError("the time of the lease is over");
    case v1::DEVICE_LEASE_END_BY_ADMIN:
      return absl::AbortedError("an administrator ended the lease");
    case v1::DEVICE_LEASE_END_SET_ASIDE:
      return absl::AbortedError("an administrator set the device aside");
    case v1::DEVICE_LEASE_END_DRAINING:
      return absl::UnavailableError("the server shuts down, which ended the lease");
    default:
      return absl::AbortedError("the server ended the lease");
  }
}

}  // namespace

void LeaseCore::Start(const v1::LeaseDeviceRequest& request) {
  grant_->OnCancel([raw = raw_.get(), weak = weak_from_this()] {
    if (const auto self = weak.lock()) raw->Cancel();
  });
  end_->OnCancel([raw = raw_.get(), weak = weak_from_this()] {
    if (const auto self = weak.lock()) raw->Cancel();
  });
  raw_->Start(shared_from_this());
  const std::string bytes = request.SerializeAsString();
  const grpc::Slice slice(bytes);
  const MutexLock lock(mutex_);
  if (may_write_) raw_->Write(grpc::ByteBuffer(&slice, 1), /*is_followed=*/false);
}

void LeaseCore::Finish() {
  {
    const MutexLock lock(mutex_);
    is_finishing_ = true;
    if (is_over_) return;
  }
  raw_->Cancel();
  const MutexLock lock(mutex_);
  while (!is_over_) changed_.Wait(mutex_);
}

DeviceLease::State LeaseCore::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

uint32_t LeaseCore::position() const {
  const MutexLock lock(mutex_);
  return state_ == DeviceLease::State::kWaiting ? position_ : 0;
}

void LeaseCore::OnMessage(grpc::ByteBuffer& message) {
  ResponseMessage received;
  v1::LeaseDeviceResponse event;
  absl::Status status = received.Read(message);
  if (status.ok()) status = Parse(received, event);
  if (status.ok() && event.has_granted()) status = on_id_(event.granted().device_lease());
  if (status.ok()) return Take(event);
  {
    const MutexLock lock(mutex_);
    if (!why_) why_ = std::move(status);
  }
  raw_->Cancel();
}

void LeaseCore::Take(const v1::LeaseDeviceResponse& event) {
  std::optional<DeviceGrant> granted;
  {
    const MutexLock lock(mutex_);
    if (event.has_queued()) position_ = event.queued().position();
    if (event.has_granted() && state_ == DeviceLease::State::kWaiting) {
      const v1::DeviceLeaseGranted& grant = event.granted();
      state_ = DeviceLease::State::kHeld;
      is_granted_ = true;
      granted = {grant.device_lease(), grant.device(), absl::Milliseconds(grant.left_ms())};
    }
    if (event.has_ended()) {
      state_ = DeviceLease::State::kEnded;
      why_ = StatusOf(event.ended().why());
    }
  }
  if (granted) grant_->Finish(*std::move(granted), {});
}

void LeaseCore::OnWritten() {
  const MutexLock lock(mutex_);
  if (may_write_) raw_->WritesDone();
}

void LeaseCore::OnMessagesEnd() {
  const MutexLock lock(mutex_);
  may_write_ = false;
}

void LeaseCore::OnEnd(const absl::Status& status) {
  bool was_granted = false;
  absl::Status why = status;
  {
    const MutexLock lock(mutex_);
    state_ = DeviceLease::State::kEnded;
    if (why_) {
      why = *why_;
    } else if (is_finishing_ && absl::IsCancelled(status)) {
      why = absl::OkStatus();
    } else if (status.ok()) {
      why = absl::UnavailableError("the server ended the stream without a reason");
    }
    was_granted = is_granted_;
  }
  if (!was_granted) {
    const absl::Status refused =
        why.ok() ? absl::CancelledError("the lease was given up before it was granted") : why;
    grant_->Finish(refused, {});
    why = refused;
  }
  end_->Finish(std::move(why), {});
  const MutexLock lock(mutex_);
  is_over_ = true;
  changed_.NotifyAll();
}

}  // namespace opserve::client_internal
