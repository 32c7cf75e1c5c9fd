#include "server/lease/lease_stream.h"

#include <chrono>
#include <deque>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "opserve/v1/device_lease.pb.h"
#include "proto/base/mutex.h"
#include "server/errors/errors.h"
#include "server/lease/lease_calls.h"
#include "server/rpc/message_bytes.h"

namespace opserve {
namespace {

v1::DeviceLeaseEnd MessageOf(LeaseEnd why) {
  switch (why) {
    case LeaseEnd::kExpired:
      return v1::DEVICE_LEASE_END_EXPIRED;
    case LeaseEnd::kReleased:
      return v1::DEVICE_LEASE_END_RELEASED;
    case LeaseEnd::kByAdmin:
      return v1::DEVICE_LEASE_END_BY_ADMIN;
    case LeaseEnd::kSetAside:
      return v1::DEVICE_LEASE_END_SET_ASIDE;
    case LeaseEnd::kDraining:
      return v1::DEVICE_LEASE_END_DRAINING;
  }
  return v1::DEVICE_LEASE_END_UNSPECIFIED;
}

// Writes what happens to a lease into its stream, one message at a time: a client that does not
// read finds the last position, not all. Keeps the stream while it lives. Thread-safe.
class LeaseEvents final : public LeaseListener {
 public:
  explicit LeaseEvents(StreamCall& call) : call_(call) { call_.Hold(); }
  ~LeaseEvents() override { call_.Release(); }

  void OnQueued(size_t position) override {
    v1::LeaseDeviceResponse message;
    message.mutable_queued()->set_position(static_cast<uint32_t>(position));
    Add({.message = std::move(message), .is_position = true});
  }

  void OnGranted(const GrantedLease& lease) override {
    v1::LeaseDeviceResponse message;
    v1::DeviceLeaseGranted& granted = *message.mutable_granted();
    granted.set_device_lease(lease.id);
    granted.set_device(lease.device);
    granted.set_left_ms(LeaseMilliseconds(lease.left));
    granted.set_number(lease.number);
    Add({.message = std::move(message)});
  }

  void OnEnded(LeaseEnd why) override {
    v1::LeaseDeviceResponse message;
    message.mutable_ended()->set_why(MessageOf(why));
    Add({.message = std::move(message), .is_last = true});
  }

  // The message that was on its way is gone.
  void OnWritten() { WriteNext(/*is_free=*/true); }

 private:
  struct Event {
    v1::LeaseDeviceResponse message;
    bool is_position = false;
    bool is_last = false;
  };

  void Add(Event event) {
    call_.Guard([&] {
      {
        MutexLock lock(mutex_);
        if (!events_.empty() && events_.back().is_position) events_.pop_back();
        events_.push_back(std::move(event));
      }
      WriteNext(/*is_free=*/false);
    });
  }

  // `is_free`: whether a message that was on its way is gone.
  void WriteNext(bool is_free) {
    std::optional<Event> next;
    {
      MutexLock lock(mutex_);
      if (is_free) is_writing_ = false;
      if (is_writing_ || events_.empty()) return;
      next = std::move(events_.front());
      events_.pop_front();
      is_writing_ = true;
    }
    call_.Write(SerializeMessage(next->message));
    if (next->is_last) call_.Finish(absl::OkStatus());
  }

  StreamCall& call_;
  Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
};

// What the client sends after its request is not read.
class LeaseStream final : public StreamHandler {
 public:
  LeaseStream(DeviceLeases& leases, const DevicePool& pool, StreamCall& call)
      : leases_(leases), pool_(pool), call_(call) {
    call_.Read();
  }

  void OnMessage(grpc::ByteBuffer& message) override {
    has_request_ = true;
    if (is_over_) return;
    if (absl::Status status = Ask(message); !status.ok()) call_.Finish(status);
  }
  void OnMessagesEnd() override {
    if (has_request_) return;
    has_request_ = true;
    call_.Finish(MakeViolationError({"", "There is no request in the stream."}));
  }
  void OnWritten() override {
    if (events_ != nullptr) events_->OnWritten();
  }
  bool is_waiting() const override { return !has_request_; }
  void OnOver() override {
    is_over_ = true;
    events_.reset();
    // It may have ended long ago.
    if (number_) leases_.End(*number_, LeaseEnd::kReleased).IgnoreError();
  }

 private:
  absl::Status Ask(grpc::ByteBuffer& bytes) {
    v1::LeaseDeviceRequest request;
    absl::Status status = ParseMessage(bytes, request);
    if (status.ok()) status = CheckLeaseRequest(request, pool_);
    if (!status.ok()) return status;
    events_ = std::make_shared<LeaseEvents>(call_);
    absl::StatusOr<uint64_t> number =
        leases_.Ask({.identity = std::string(call_.caller().identity()),
                     .client = call_.caller().client(),
                     .label = request.label(),
                     .device = request.device(),
                     .wanted = WantedLeaseTime(request.time_s())},
                    events_);
    if (!number.ok()) {
      events_.reset();
      return number.status();
    }
    number_ = *number;
    return absl::OkStatus();
  }

  DeviceLeases& leases_;
  const DevicePool& pool_;
  StreamCall& call_;
  std::shared_ptr<LeaseEvents> events_;
  std::optional<uint64_t> number_;
  bool has_request_ = false;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<StreamHandler> StartLeaseDevice(DeviceLeases& leases, const DevicePool& pool,
                                                StreamCall& call) {
  return std::make_unique<LeaseStream>(leases, pool, call);
}

}  // namespace opserve
