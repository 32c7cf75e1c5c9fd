#include "client/stream/stream_core.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/wire/wire.h"
#include "client/wire/wire_sequences.h"
#include "opserve/errors.h"
#include "proto/transport/shared_write.h"

namespace opserve::client_internal {
namespace {

// How long the socket may keep a request's payloads beyond its time until the stream is given up.
constexpr absl::Duration kStuckLimit = absl::Seconds(1);

// Whether a stream can bring what the sequence gives.
absl::Status CheckOutputs(const OperatorSequence& sequence) {
  const bool has_place =
      std::any_of(sequence.outputs.begin(), sequence.outputs.end(),
                  [](const SequenceOutput& output) { return output.place.has_value(); });
  if (!has_place) return absl::OkStatus();
  return absl::InvalidArgumentError("the outputs of a sequence of a stream come in the stream");
}

absl::StatusOr<Tensor> OnlyResult(absl::StatusOr<StreamResults> results) {
  if (!results.ok()) return results.status();
  return std::move(results->front());
}

absl::StatusOr<std::vector<SequenceResult>> ResultsOf(absl::StatusOr<StreamResults> tensors) {
  if (!tensors.ok()) return tensors.status();
  std::vector<SequenceResult> results;
  for (Tensor& tensor : *tensors) results.push_back({tensor.spec(), std::move(tensor)});
  return results;
}

}  // namespace

struct StreamCore::Request : OutgoingRequest {
  Request(std::optional<size_t> sequence_outputs, uint64_t id, OutgoingMessage message,
          uint64_t piece_bytes, uint64_t offered_from)
      : OutgoingRequest(id, std::move(message), piece_bytes, offered_from),
        answer(sequence_outputs) {}

  Callback done;
  absl::Time deadline;
  AnswerAssembly answer;  // only for the thread that messages come on
  // Set once, with the mutex held.
  bool is_decided = false;
  absl::StatusOr<StreamResults> results = absl::UnknownError("no outcome");
  ExecutionInfo info;
};

uint64_t StreamCore::Submit(const OperatorCall& call, ExecuteCallback done,
                            std::optional<absl::Duration> timeout) {
  return Submit(StreamedCall(MakeRequest(call)), /*sequence_outputs=*/std::nullopt,
                absl::OkStatus(), std::move(done), timeout);
}

uint64_t StreamCore::Submit(const OperatorSequence& sequence, SequenceCallback done,
                            std::optional<absl::Duration> timeout) {
  return Submit(StreamedSequence(MakeRequest(sequence)),
                std::max<size_t>(sequence.outputs.size(), 1), CheckOutputs(sequence),
                std::move(done), timeout);
}

uint64_t StreamCore::Submit(OutgoingMessage message, std::optional<size_t> sequence_outputs,
                            absl::Status why_not, Callback done,
                            std::optional<absl::Duration> timeout) {
  RequestPtr refused;
  uint64_t id = 0;
  {
    const MutexLock lock(mutex_);
    id = ++last_id_;
    const auto request = std::make_shared<Request>(sequence_outputs, id, std::move(message),
                                                   piece_bytes_, offered_from_);
    request->done = std::move(done);
    request->info.sends = 1;
    if (why_not.ok()) why_not = WhyClosed();
    if (!Enqueue(request, std::move(why_not), timeout)) refused = request;
  }
  if (refused != nullptr) Deliver(std::move(refused));
  return id;
}

bool StreamCore::Enqueue(const RequestPtr& request, absl::Status why_not,
                         std::optional<absl::Duration> timeout) {
  const uint64_t id = request->pieces.id();
  pending_.emplace(id, request);
  if (!why_not.ok()) {
    request->is_decided = true;
    request->results = std::move(why_not);
    return false;
  }
  request->deadline = clock_.Now() + timeout.value_or(request_timeout_);
  open_.emplace(id, request);
  outbox_.Push(request);
  WakeAt(request->deadline);
  SendNext();
  return true;
}

absl::Status StreamCore::WhyClosed() const {
  if (!reason_.ok()) return reason_;
  if (end_ && !end_->ok()) return *end_;
  if (is_finishing_) return absl::FailedPreconditionError("the stream is finished");
  if (end_) return absl::UnavailableError("the server has ended the stream");
  return absl::OkStatus();
}

void StreamCore::Cancel(uint64_t id) {
  RequestPtr request;
  {
    const MutexLock lock(mutex_);
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    request = found->second;
    if (!Abandon(request, absl::CancelledError("the request was cancelled"))) return;
  }
  Deliver(std::move(request));
}

absl::Status StreamCore::Finish(absl::Duration timeout) {
  const MutexLock lock(mutex_);
  is_finishing_ = true;
  std::optional<ClientClock::Key> limit;
  if (!end_ && timeout != absl::InfiniteDuration()) {
    limit = clock_.RunAfter(timeout, [weak = weak_from_this(), timeout] {
      const std::shared_ptr<StreamCore> self = weak.lock();
      if (self == nullptr) return;
      self->End(absl::DeadlineExceededError(absl::StrCat(
          "the stream was not over ", absl::FormatDuration(timeout), " after it was to finish")));
    });
  }
  SendNext();
  while (!pending_.empty()) changed_.Wait(mutex_);
  if (!open_.empty() && reason_.ok()) {
    // All that is missing are answers that nobody waits for any more.
    is_dropped_ = true;
    raw_->Cancel();
  }
  while (!is_over_) changed_.Wait(mutex_);
  if (limit) clock_.Cancel(*limit);
  return *end_;
}

void StreamCore::OnMessage(grpc::ByteBuffer& message) {
  const absl::Status status = Take(message);
  if (!status.ok()) End(status);
}

absl::Status StreamCore::Take(grpc::ByteBuffer& bytes) {
  ResponseMessage message;
  if (absl::Status status = message.Read(bytes); !status.ok()) return status;
  v1::ExecuteStreamResponse header;
  if (!header.ParseFromString(message.header())) {
    return absl::DataLossError("the server's response is no ExecuteStreamResponse");
  }
  bool is_wanted = false;
  const RequestPtr request = Find(header.id(), is_wanted);
  if (request == nullptr) {
    return absl::DataLossError(
        absl::StrCat("the server answers request ", header.id(), ", which is not open"));
  }
  const absl::StatusOr<bool> is_done = TakeTerms(request, header);
  if (!is_done.ok()) return is_done.status();
  if (*is_done) return absl::OkStatus();
  absl::Status status = request->answer.Add(header, message, is_wanted ? &buffers_ : nullptr);
  if (status.ok() && message.payload_count() > 0 &&
      request->answer.EndsRun(header.payload_number())) {
    status = OnRunAnswered(request);
  }
  if (status.ok() && request->answer.is_complete()) OnAnswered(request);
  return status;
}

absl::StatusOr<bool> StreamCore::TakeTerms(const RequestPtr& request,
                                           const v1::ExecuteStreamResponse& header) {
  const bool is_error = !header.error().empty();
  // Most messages are results, and about no offer.
  if (!is_error && !header.has_pipeline()) return false;
  const bool are_terms = !is_error;
  const MutexLock lock(mutex_);
  // Only a server that does not know offers refuses one without a word about it. Sequences came
  // later than they did.
  const bool is_unknown = is_error && !header.has_pipeline() && request->pieces.awaits_terms() &&
                          !request->answer.is_sequence();
  if (is_unknown && !request->is_decided) {
    outbox_.OnUnknownOffer(request);
    SendNext();
    return true;
  }
  if (!are_terms) return false;
  const v1::PipelineTerms& terms = header.pipeline();
  std::optional<RunTerms> runs;
  if (terms.run_bytes_size() > 0) {
    runs = {{terms.run_bytes().begin(), terms.run_bytes().end()}, terms.max_open_runs()};
  }
  const bool is_declined = !runs;
  if (!outbox_.OnTerms(request, std::move(runs))) {
    return absl::DataLossError(absl::StrCat("the server's terms for request ", header.id(),
                                            " are not such as can be kept"));
  }
  SendNext();
  return is_declined;
}

absl::Status StreamCore::OnRunAnswered(const RequestPtr& request) {
  const MutexLock lock(mutex_);
  if (!outbox_.OnRunAnswered(request)) {
    return absl::DataLossError(absl::StrCat("the server answers a run of request ",
                                            request->pieces.id(), " that was not sent"));
  }
  SendNext();
  return absl::OkStatus();
}

StreamCore::RequestPtr StreamCore::Find(uint64_t id, bool& is_wanted) {
  const MutexLock lock(mutex_);
  const auto found = open_.find(id);
  const bool is_known = found != open_.end() && found->second->pieces.has_begun();
  // Nothing that follows a message that broke the rules is believed.
  if (!is_known || !reason_.ok()) return nullptr;
  is_wanted = !found->second->is_decided;
  return found->second;
}

void StreamCore::OnAnswered(const RequestPtr& request) {
  {
    const MutexLock lock(mutex_);
    open_.erase(request->pieces.id());
    outbox_.OnAnswered(request);
    SendNext();
    if (std::exchange(request->is_decided, true)) return;
    request->results = request->answer.TakeResults();
    request->info = request->answer.info();
    request->info.sends = 1;
  }
  // Before the callback, which may open another stream because of it.
  const absl::Status& refusal = request->results.status();
  if (GetErrorReason(refusal) == kWrongHost) raw_->Judge(refusal);
  Deliver(request);
}

void StreamCore::OnWritten() {
  const MutexLock lock(mutex_);
  is_writing_ = false;
  SendNext();
}

void StreamCore::OnMessagesEnd() {
  const MutexLock lock(mutex_);
  may_write_ = false;
}

void StreamCore::OnEnd(const absl::Status& status) {
  std::map<uint64_t, RequestPtr> lost;
  std::vector<RequestPtr> lent;
  std::optional<grpc::ByteBuffer> unsent;
  {
    const MutexLock lock(mutex_);
    may_write_ = false;
    StopTimer();
    unsent.swap(ahead_);
    end_ = is_dropped_ ? absl::OkStatus() : reason_.ok() ? status : reason_;
    lost = std::move(open_);
    open_.clear();
    std::erase_if(lost, [](const auto& request) { return request.second->is_decided; });
    if (end_->ok() && !lost.empty()) {
      end_ = absl::UnavailableError("the server ended the stream before it had answered");
    }
    for (const auto& [id, request] : lost) {
      request->is_decided = true;
      request->results = *end_;
    }
    for (const auto& [id, request] : pending_) lent.push_back(request);
  }
  unsent.reset();
  for (const RequestPtr& request : lent) {
    if (!request->hold.IsReleased()) raw_->Reclaim({request, &request->hold});
  }
  lent.clear();
  for (const auto& [id, request] : lost) Deliver(request);
  lost.clear();
  // Still under the lock: without it Finish could end, and this go, before notify_all does.
  const MutexLock lock(mutex_);
  is_over_ = true;
  changed_.NotifyAll();
}

void StreamCore::OnTimer(absl::Time time) {
  std::vector<RequestPtr> expired;
  bool is_stuck = false;
  {
    const MutexLock lock(mutex_);
    if (time != wake_at_) return;
    StopTimer();
    absl::Time next = absl::InfiniteFuture();
    const absl::Time now = clock_.Now();
    for (const auto& [id, request] : pending_) {
      // One that was cancelled or answered may still have lent its memory.
      if (request->is_decided && request->hold.IsReleased()) continue;
      const absl::Time limit =
          request->is_decided ? request->deadline + kStuckLimit : request->deadline;
      if (limit > now) {
        next = std::min(next, limit);
      } else if (request->is_decided) {
        is_stuck = true;
      } else {
        expired.push_back(request);
      }
    }
    for (const RequestPtr& request : expired) {
      Abandon(request, absl::DeadlineExceededError("the request's time is up"));
      if (!request->hold.IsReleased()) next = std::min(next, now + kStuckLimit);
    }
    WakeAt(next);
  }
  for (RequestPtr& request : expired) Deliver(std::move(request));
  if (!is_stuck) return;
  End(absl::UnavailableError(
      "the connection does not take a request whose time is up; the stream was given up"));
}

bool StreamCore::Abandon(const RequestPtr& request, absl::Status why) {
  if (std::exchange(request->is_decided, true)) return false;
  request->results = std::move(why);
  if (!outbox_.Cancel(request)) open_.erase(request->pieces.id());
  SendNext();
  return true;
}

void StreamCore::SendNext() {
  if (is_writing_ || !may_write_ || !reason_.ok()) return;
  std::optional<grpc::ByteBuffer> message = ahead_ ? std::move(ahead_) : outbox_.Next();
  ahead_.reset();
  if (message) {
    is_writing_ = true;
    if (SharedWrite::MayWait(*message)) ahead_ = outbox_.Next();
    raw_->Write(*std::move(message), /*is_followed=*/ahead_.has_value());
  } else if (is_finishing_ && open_.empty()) {
    may_write_ = false;
    raw_->WritesDone();
  }
}

void StreamCore::WakeAt(absl::Time time) {
  if (time >= wake_at_) return;
  StopTimer();
  wake_at_ = time;
  timer_ = clock_.RunAfter(time - clock_.Now(), [weak = weak_from_this(), time] {
    if (const std::shared_ptr<StreamCore> self = weak.lock()) self->OnTimer(time);
  });
}

void StreamCore::StopTimer() {
  wake_at_ = absl::InfiniteFuture();
  if (timer_) clock_.Cancel(*timer_);
  timer_.reset();
}

void StreamCore::End(const absl::Status& why) {
  const MutexLock lock(mutex_);
  if (!reason_.ok() || end_) return;
  reason_ = why;
  raw_->Cancel();
}

void StreamCore::Deliver(RequestPtr request) {
  if (request->hold.IsReleased()) return Run(*request);
  PayloadHold& hold = request->hold;
  // What releases the hold may be in the midst of things, so the callback runs elsewhere.
  hold.OnRelease([self = shared_from_this(), request = std::move(request)] {
    self->clock_.RunAfter(absl::ZeroDuration(), [self, request] { self->Run(*request); });
  });
}

void StreamCore::Run(Request& request) {
  {
    // What the callback holds goes before the request counts as done: Finish waits for that.
    Callback done = std::move(request.done);
    if (auto* const of_call = std::get_if<ExecuteCallback>(&done)) {
      std::move (*of_call)(OnlyResult(std::move(request.results)), request.info);
    } else {
      std::move(std::get<SequenceCallback>(done))(ResultsOf(std::move(request.results)),
                                                  request.info);
    }
  }
  const MutexLock lock(mutex_);
  pending_.erase(request.pieces.id());
  changed_.NotifyAll();
}

}  // namespace opserve::client_internal
