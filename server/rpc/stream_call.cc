#include "server/rpc/stream_call.h"

#include <chrono>
#include <exception>
#include <utility>

#include "server/rpc/call_context.h"
#include "server/rpc/rpc_status.h"

namespace opserve {
namespace {

// A client that has one request under way at a time does not pay for the look at the queue.
constexpr int kMessagesAtOnce = 15;

}  // namespace

void StreamCall::Expect(RpcService::Method& method, Poller& poller) {
  auto* const call = new StreamCall(method, poller);
  call->context_.AsyncNotifyWhenDone(static_cast<CompletionTag*>(&call->over_));
  method.service.RequestAsyncBidiStreaming(method.index, &call->context_, &call->stream_,
                                           &poller.queue(), &poller.queue(),
                                           static_cast<CompletionTag*>(&call->start_));
}

std::string StreamCall::traceparent() const { return TraceParentOf(context_); }

Clock::TimePoint StreamCall::deadline() const { return DeadlineOf(context_); }

void StreamCall::Read() {
  Hold();
  stream_.Read(&incoming_, static_cast<CompletionTag*>(&read_));
}

void StreamCall::Write(grpc::ByteBuffer message) {
  {
    MutexLock lock(mutex_);
    if (is_over_ || is_ending_) return;
    const bool puts_off = !is_put_off_ && MayPutOff(message);
    outbox_.push_back(std::move(message));
    if (!puts_off) {
      if (!is_put_off_) SendNext();
      return;
    }
    is_put_off_ = true;
    Hold();
  }
  poller_.PutOff(*this);
}

bool StreamCall::MayPutOff(const grpc::ByteBuffer& message) {
  if (!poller_.is_current_thread() || handler_ == nullptr || is_writing_) return false;
  // Of messages that go together, the first one has been put off.
  if (shared_write_.has_waiting() || !SharedWrite::MayWait(message)) return false;
  if (messages_at_once_ == 0) return true;
  --messages_at_once_;
  return false;
}

bool StreamCall::GoesOnWith(const void* tag) const {
  return tag == static_cast<const CompletionTag*>(&read_);
}

void StreamCall::OnPutOff() {
  {
    MutexLock lock(mutex_);
    is_put_off_ = false;
    if (outbox_.size() == 1 && !handler_->has_more_to_send()) messages_at_once_ = kMessagesAtOnce;
    SendNext();
  }
  Unreference();
}

void StreamCall::Finish(const absl::Status& status) {
  bool is_reported_later = false;
  {
    MutexLock lock(mutex_);
    if (is_over_ || is_ending_) return;
    is_ending_ = true;
    // The messages of a client that gave the stream up end, too, and that it did is known later.
    is_reported_later = messages_have_ended_;
    if (is_reported_later) unreported_ = status;
  }
  // Before the client hears of it, and without the lock, because who is told may have locks.
  if (!status.ok() && !is_reported_later) ReportFailure(status);
  MutexLock lock(mutex_);
  if (is_over_) return;
  end_ = ToGrpcStatus(status, context_);
  SendNext();
}

void StreamCall::ReportFailure(const absl::Status& status) noexcept {
  if (method_.limits.observer == nullptr) return;
  RequestRecord record;
  record.method = method_.name();
  record.start = started_;
  ReportEnd(*method_.limits.observer, record, status, 0, CallSource(context_, caller_));
}

void StreamCall::Guard(absl::FunctionRef<void()> work) noexcept {
  try {
    work();
  } catch (...) {
    Finish(method_.FailureOfException());
  }
}

void StreamCall::SendNext() {
  if (is_writing_ || is_finished_ || is_over_) return;
  if (!outbox_.empty()) {
    is_writing_ = true;
    Hold();
    const grpc::ByteBuffer& message = outbox_.front();
    const bool is_followed =
        outbox_.size() > 1 ||
        (poller_.is_current_thread() && handler_ != nullptr && handler_->has_more_to_send());
    stream_.Write(message, shared_write_.OptionsFor(message, is_followed),
                  static_cast<CompletionTag*>(&written_));
    outbox_.pop_front();
  } else if (end_) {
    is_finished_ = true;
    Hold();
    stream_.Finish(*end_, static_cast<CompletionTag*>(&finished_));
  }
}

void StreamCall::OnStart(bool ok) {
  if (!ok) {
    // The server shuts down.
    delete this;
    return;
  }
  ExpectNext();
  poller_.AddCall(*this);
  if (method_.limits.observer != nullptr) started_ = SteadyClock().Now();
  Guard([this] {
    if (absl::Status status = Admit(); !status.ok()) return Finish(status);
    handler_ = method_.stream(*this);
  });
}

void StreamCall::ExpectNext() noexcept {
  try {
    Expect(method_, poller_);
    lacks_successor_ = false;
  } catch (const std::exception&) {
    lacks_successor_ = true;
  }
}

absl::Status StreamCall::Admit() {
  auto caller = method_.Authorize(context_);
  if (!caller.ok()) return caller.status();
  caller_ = *std::move(caller);
  if (method_.limits.admission == nullptr) return absl::OkStatus();
  auto permit = method_.limits.admission->Admit(caller_.identity(), 0, caller_.grant().streams);
  if (!permit.ok()) return permit.status();
  permit_ = *std::move(permit);
  return absl::OkStatus();
}

void StreamCall::OnTick() {
  if (lacks_successor_) ExpectNext();
  if (references_ == 0) return LeaveIfOver();
  if (handler_ != nullptr) Guard([this] { handler_->OnTick(); });
  bool is_sending = false;
  {
    MutexLock lock(mutex_);
    is_sending = (is_writing_ || is_finished_) && !is_over_;
  }
  const bool is_waiting = is_sending || (handler_ != nullptr && handler_->is_waiting());
  if (stall_watch_.IsStalled(is_waiting, progress_)) context_.TryCancel();
}

void StreamCall::OnRead(bool ok) {
  ++progress_;
  if (!SharedWrite::MayWait(incoming_)) {
    // No answer waits until that of a large message is computed.
    MutexLock lock(mutex_);
    if (is_put_off_) SendNext();
  }
  if (handler_ != nullptr) {
    Guard([this, ok] {
      if (!ok) return EndMessages();
      if (absl::Status status = method_.CheckMessage(incoming_); !status.ok()) {
        incoming_.Clear();
        return Finish(status);
      }
      handler_->OnMessage(incoming_);
    });
  }
  Unreference();
}

void StreamCall::EndMessages() {
  {
    MutexLock lock(mutex_);
    messages_have_ended_ = true;
  }
  handler_->OnMessagesEnd();
}

void StreamCall::OnWritten(bool ok) {
  ++progress_;
  {
    MutexLock lock(mutex_);
    is_writing_ = false;
    if (!ok) outbox_.clear();
    SendNext();
  }
  if (ok && handler_ != nullptr) Guard([this] { handler_->OnWritten(); });
  Unreference();
}

void StreamCall::OnFinished(bool) { Unreference(); }

void StreamCall::OnOver(bool) {
  absl::Status failure;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    outbox_.clear();
    failure = std::exchange(unreported_, absl::OkStatus());
  }
  if (!failure.ok() && !context_.IsCancelled()) ReportFailure(failure);
  if (handler_ != nullptr) Guard([this] { handler_->OnOver(); });
  Unreference();
}

void StreamCall::Release() {
  int references = references_;
  while (references > 1) {
    if (references_.compare_exchange_weak(references, references - 1)) return;
  }
  // The last events of the stream are behind it; only its thread may remove it, and until then this
  // reference stays.
  release_alarm_.Set(&poller_.queue(), std::chrono::system_clock::now(),
                     static_cast<CompletionTag*>(&released_));
}

void StreamCall::OnReleased(bool) { Unreference(); }

void StreamCall::Unreference() {
  if (--references_ > 0) return;
  LeaveIfOver();
}

void StreamCall::LeaveIfOver() {
  // What the call held may be what was missing.
  handler_.reset();
  permit_ = Admission::Permit();
  if (lacks_successor_) ExpectNext();
  if (lacks_successor_) return;
  poller_.RemoveCall(*this);
  delete this;
}

}  // namespace opserve
