// File: client/stream/lease_core.h
//
// The stream of a device lease, behind DeviceLease of opserve/device_lease.h.

#ifndef OPSERVE_CLIENT_STREAM_LEASE_CORE_H_
#define OPSERVE_CLIENT_STREAM_LEASE_CORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/rpc/raw_stream.h"
#include "opserve/device_lease.h"
#include "opserve/v1/device_lease.pb.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// Thread-safe. Kept by its stream until that is over.
class LeaseCore final : public RawStream::Observer, public std::enable_shared_from_this<LeaseCore> {
 public:
  // `on_id` hears of the lease's id before anybody else; with an error the lease is given up.
  explicit LeaseCore(
      std::unique_ptr<RawStream> raw, std::function<absl::Status(const std::string& id)> on_id =
                                          [](const std::string&) { return absl::OkStatus(); })
      : raw_(std::move(raw)), on_id_(std::move(on_id)) {}

  // Asks for the lease. To be called once, before all else.
  void Start(const v1::LeaseDeviceRequest& request);
  // Gives it back, and waits until the stream is over.
  void Finish();

  // As those of DeviceLease.
  DeviceLease::State state() const;
  uint32_t position() const;
  const std::shared_ptr<CallState<DeviceGrant>>& grant() const { return grant_; }
  const std::shared_ptr<CallState<void>>& end() const { return end_; }

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnWritten() override;
  void OnMessagesEnd() override;
  void OnEnd(const absl::Status& status) override;

  void Take(const v1::LeaseDeviceResponse& event);

  const std::unique_ptr<RawStream> raw_;
  const std::function<absl::Status(const std::string& id)> on_id_;
  const std::shared_ptr<CallState<DeviceGrant>> grant_ = std::make_shared<CallState<DeviceGrant>>();
  const std::shared_ptr<CallState<void>> end_ = std::make_shared<CallState<void>>();

  mutable Mutex mutex_;
  CondVar changed_;
  DeviceLease::State state_ ABSL_GUARDED_BY(mutex_) = DeviceLease::State::kWaiting;
  bool is_granted_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t position_ ABSL_GUARDED_BY(mutex_) = 0;
  // What the server said of the end, where it did.
  std::optional<absl::Status> why_ ABSL_GUARDED_BY(mutex_);
  bool may_write_ ABSL_GUARDED_BY(mutex_) = true;
  // Whether this side gave the lease back.
  bool is_finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_STREAM_LEASE_CORE_H_
