#include "server/rpc/unary_call.h"

#include <chrono>

#include "server/rpc/call_context.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/rpc_status.h"

namespace opserve {
namespace {

// Responses from this size on are given to gRPC in the poller's thread. Where one thread writes to
// a connection that another one polls, gRPC brings a third one in, which costs large responses more
// than the change of threads.
constexpr uint64_t kMinBytesToPoller = 4 << 20;

// How a large response advances is not to be seen, so it gets a second more for each of so many
// bytes.
constexpr uint64_t kLeastBytesPerSecond = 1 << 20;

uint64_t ExtraTicks(uint64_t bytes, std::chrono::milliseconds tick) {
  return bytes / kLeastBytesPerSecond * 1000 / static_cast<uint64_t>(tick.count());
}

}  // namespace

void UnaryCall::Expect(RpcService::Method& method, Poller& poller) {
  auto* const call = new UnaryCall(method, poller);
  call->context_.AsyncNotifyWhenDone(static_cast<CompletionTag*>(&call->over_));
  method.service.RequestAsyncUnary(method.index, &call->context_, &call->request_,
                                   &call->responder_, &poller.queue(), &poller.queue(),
                                   static_cast<CompletionTag*>(&call->start_));
}

std::string UnaryCall::client() const { return ClientOf(context_); }

Clock::TimePoint UnaryCall::deadline() const { return DeadlineOf(context_); }

void UnaryCall::Finish(const grpc::ByteBuffer& response) {
  response_bytes_ = response.Length();
  if (response_bytes_ < kMinBytesToPoller || poller_.is_current_thread()) {
    Send(response);
    return;
  }
  response_ = response;
  send_alarm_.emplace();
  hand_over_.Give();
  send_alarm_->Set(&poller_.queue(), gpr_inf_past(GPR_CLOCK_MONOTONIC),
                   static_cast<CompletionTag*>(&send_));
}

void UnaryCall::Finish(const absl::Status& status) {
  hand_over_.Give();
  responder_.FinishWithError(ToGrpcStatus(status), static_cast<CompletionTag*>(&finished_));
}

void UnaryCall::Finish(const absl::Status& status, const google::protobuf::Message& answer) {
  if (status.ok()) {
    Finish(SerializeMessage(answer));
  } else {
    Finish(status);
  }
}

void UnaryCall::OnStart(bool ok) {
  if (!ok) {
    // The server shuts down.
    delete this;
    return;
  }
  Expect(method_, poller_);
  poller_.AddCall(*this);
  method_.handle(*this);
}

void UnaryCall::OnTick() {
  if (!hand_over_.is_given()) return;
  if (stall_watch_.IsStalled(true, 0, ExtraTicks(response_bytes_, poller_.tick()))) {
    context_.TryCancel();
  }
}

void UnaryCall::OnSend(bool) {
  hand_over_.Take();
  Send(response_);
  response_.Clear();
}

void UnaryCall::Send(const grpc::ByteBuffer& response) {
  hand_over_.Give();
  responder_.Finish(response, grpc::Status::OK, static_cast<CompletionTag*>(&finished_));
}

void UnaryCall::OnFinished(bool) {
  hand_over_.Take();
  RemoveOne();
}

void UnaryCall::OnOver(bool) {
  if (handler_ != nullptr && context_.IsCancelled()) handler_->OnCancel();
  RemoveOne();
}

void UnaryCall::RemoveOne() {
  if (--missing_events_ > 0) return;
  poller_.RemoveCall(*this);
  delete this;
}

}  // namespace opserve
