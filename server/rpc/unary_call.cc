#include "server/rpc/unary_call.h"

#include <exception>

#include "server/errors/errors.h"
#include "server/rpc/call_context.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/rpc_status.h"

namespace opserve {
namespace {

// Responses from this size on are given to gRPC in the poller's thread. Where one thread writes to
// a connection that another one polls, gRPC brings a third one in, which costs large responses more
// than the change of threads.
constexpr uint64_t kMinBytesToPoller = 4 << 20;

}  // namespace

void UnaryCall::Expect(RpcService::Method& method, Poller& poller) {
  auto* const call = new UnaryCall(method, poller);
  call->context_.AsyncNotifyWhenDone(static_cast<CompletionTag*>(&call->over_));
  method.service.RequestAsyncClientStreaming(method.index, &call->context_, &call->stream_,
                                             &poller.queue(), &poller.queue(),
                                             static_cast<CompletionTag*>(&call->start_));
}

Clock::TimePoint UnaryCall::deadline() const { return DeadlineOf(context_); }

void UnaryCall::Guard(absl::FunctionRef<void()> work) noexcept {
  try {
    work();
  } catch (...) {
    const absl::Status status = method_.FailureOfException();
    if (!hand_over_.is_given()) Finish(status);
  }
}

void UnaryCall::Finish(const grpc::ByteBuffer& response) {
  if (Admission* const admission = method_.limits.admission; admission != nullptr) {
    // The request is not held any more, the answer is, for as long as the client does not take it.
    permit_ = Admission::Permit();
    auto permit = admission->Admit(caller_.identity(), response.Length());
    if (!permit.ok()) return Finish(permit.status());
    permit_ = *std::move(permit);
  }
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
  Report(status, 0);
  SendError(status);
}

void UnaryCall::SendError(const absl::Status& status) {
  const grpc::Status error = ToGrpcStatus(status, context_);
  hand_over_.Give();
  stream_.FinishWithError(error, static_cast<CompletionTag*>(&finished_));
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
  ExpectNext();
  poller_.AddCall(*this);
  if (method_.limits.observer != nullptr) {
    record_.method = method_.name();
    record_.start = SteadyClock().Now();
  }
  Guard([this] {
    if (absl::Status status = AdmitCaller(); !status.ok()) return Finish(status);
    stream_.Read(&request_, static_cast<CompletionTag*>(&message_));
  });
}

void UnaryCall::OnMessage(bool ok) {
  if (!ok || missing_events_ < 2) {
    // There is no request to report, and perhaps nobody who hears the answer.
    return Guard([this] {
      SendError(MakeViolationError({"", "The call ended before its request had come."}));
    });
  }
  if (method_.limits.observer != nullptr) {
    record_.bytes_in = request_.Length();
    record_.start = SteadyClock().Now();
  }
  Guard([this] {
    if (absl::Status status = AdmitMessage(); !status.ok()) {
      request_.Clear();
      return Finish(status);
    }
    method_.handle(*this);
  });
}

void UnaryCall::ExpectNext() noexcept {
  try {
    Expect(method_, poller_);
    lacks_successor_ = false;
  } catch (const std::exception&) {
    lacks_successor_ = true;
  }
}

absl::Status UnaryCall::AdmitCaller() {
  auto caller = method_.Authorize(context_);
  if (!caller.ok()) return caller.status();
  caller_ = *std::move(caller);
  return method_.CheckRoom(caller_);
}

absl::Status UnaryCall::AdmitMessage() {
  if (absl::Status status = method_.CheckMessage(request_); !status.ok()) return status;
  if (method_.limits.admission == nullptr) return absl::OkStatus();
  auto permit = method_.limits.admission->Admit(caller_.identity(), request_.Length());
  if (!permit.ok()) return permit.status();
  permit_ = *std::move(permit);
  return absl::OkStatus();
}

void UnaryCall::OnTick() {
  if (lacks_successor_) ExpectNext();
  if (missing_events_ == 0) return LeaveIfOver();
  if (!hand_over_.is_given()) return;
  if (stall_watch_.IsStalled(true, 0, poller_.ExtraTicks(response_bytes_))) context_.TryCancel();
}

void UnaryCall::OnSend(bool) {
  hand_over_.Take();
  Send(response_);
  response_.Clear();
}

void UnaryCall::Report(const absl::Status& status, uint64_t bytes_out) noexcept {
  if (method_.limits.observer == nullptr) return;
  ReportEnd(*method_.limits.observer, record_, status, bytes_out, CallSource(context_, caller_));
}

void UnaryCall::Send(const grpc::ByteBuffer& response) {
  // Clients must be able to see themselves counted once they have their answers.
  Report(absl::OkStatus(), response.Length());
  hand_over_.Give();
  stream_.Finish(response, grpc::Status::OK, static_cast<CompletionTag*>(&finished_));
}

void UnaryCall::OnFinished(bool ok) {
  hand_over_.Take();
  if (ok && method_.limits.observer != nullptr) ReportSent(*method_.limits.observer, record_);
  RemoveOne();
}

void UnaryCall::OnOver(bool) {
  if (handler_ != nullptr && context_.IsCancelled()) {
    try {
      handler_->OnCancel();
    } catch (...) {
      // The call runs to its end as if nobody had cancelled it, which costs time and nothing else.
      static_cast<void>(method_.FailureOfException());
    }
  }
  RemoveOne();
}

void UnaryCall::RemoveOne() {
  --missing_events_;
  LeaveIfOver();
}

void UnaryCall::LeaveIfOver() {
  if (missing_events_ > 0) return;
  // What the call held may be what was missing.
  handler_.reset();
  permit_ = Admission::Permit();
  if (lacks_successor_) ExpectNext();
  if (lacks_successor_) return;
  poller_.RemoveCall(*this);
  delete this;
}

}  // namespace opserve
