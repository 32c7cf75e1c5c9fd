#include "server/rpc/unary_call.h"

#include "server/rpc/call_context.h"
#include "server/rpc_status.h"

namespace opserve {

void UnaryCall::Expect(RpcService::Method& method, Poller& poller) {
  auto* const call = new UnaryCall(method, poller);
  call->context_.AsyncNotifyWhenDone(static_cast<Event*>(&call->over_));
  method.service.RequestAsyncUnary(method.index, &call->context_, &call->request_,
                                   &call->responder_, &poller.queue(), &poller.queue(),
                                   static_cast<Event*>(&call->start_));
}

std::string UnaryCall::client() const { return ClientOf(context_); }

Clock::TimePoint UnaryCall::deadline() const { return DeadlineOf(context_); }

void UnaryCall::Finish(const grpc::ByteBuffer& response) {
  hand_over_.Give();
  responder_.Finish(response, grpc::Status::OK, static_cast<Event*>(&finished_));
}

void UnaryCall::Finish(const absl::Status& status) {
  hand_over_.Give();
  responder_.FinishWithError(ToGrpcStatus(status), static_cast<Event*>(&finished_));
}

void UnaryCall::OnStart(bool ok) {
  if (!ok) {
    // The server shuts down.
    delete this;
    return;
  }
  Expect(method_, poller_);
  poller_.AddCall();
  method_.handle(*this);
}

void UnaryCall::OnFinished(bool) {
  hand_over_.Take();
  RemoveOne();
}

void UnaryCall::OnOver(bool) {
  if (state_ != nullptr && context_.IsCancelled()) state_->OnCancel();
  RemoveOne();
}

void UnaryCall::RemoveOne() {
  if (--missing_events_ > 0) return;
  poller_.RemoveCall();
  delete this;
}

}  // namespace opserve
