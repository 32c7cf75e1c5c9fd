#include "server/execute/execute_stream.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/mutex.h"
#include "server/errors/errors.h"
#include "server/errors/queue_errors.h"
#include "server/execute/answer_queue.h"
#include "server/execute/payload_assembly.h"
#include "server/execute/run_assembly.h"
#include "server/execute/stream_job.h"
#include "server/rpc/stream_call.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;

// A client that sends slower than this holds memory for longer than a request is worth.
constexpr uint64_t kLeastUploadBytesPerSecond = 1 << 20;

// The error of a message after which nobody can tell which bytes belong to which request.
absl::Status RuleError(absl::string_view field, std::string what) {
  return MakeViolationError({std::string(field), std::move(what)});
}

// Members without a guard belong to the poller's thread.
class ExecuteStreamHandler final : public StreamHandler, private StreamJob::Owner {
 public:
  ExecuteStreamHandler(const ExecuteParts& parts, StreamCall& call)
      : parts_(parts),
        call_(call),
        traceparent_(parts.observer == nullptr ? std::string() : call.traceparent()),
        deadline_(call.deadline()) {
    call_.Read();
  }

  void OnMessage(grpc::ByteBuffer& message) override {
    if (is_over_) return;
    const absl::Status status = Take(message);
    if (!status.ok()) return End(status);
    Step step;
    {
      MutexLock lock(mutex_);
      may_read_ = true;
      step.reads = BeginRead();
    }
    if (!step.reads) CountWaits();
    Do(step);
  }

  void OnMessagesEnd() override {
    if (arriving_.empty()) return End(absl::OkStatus());
    End(RuleError("payloads", absl::StrCat("The stream ends in the middle of request ",
                                           arriving_.begin()->first, ".")));
  }

  // Of what the server does not read it cannot know whether the client has sent it.
  bool is_waiting() const override {
    return IsReading() &&
           std::any_of(arriving_.begin(), arriving_.end(),
                       [this](const auto& entry) { return IsClientsTurn(entry.second); });
  }

  bool has_more_to_send() const override {
    MutexLock lock(mutex_);
    return !answers_.empty();
  }

  void OnTick() override {
    for (auto& [id, arriving] : arriving_) DropIfOver(arriving);
    const Clock::TimePoint now = CountWaits();
    for (auto& [id, arriving] : arriving_) {
      if (arriving.job != nullptr && now > arriving.time_limit) GiveUp(arriving);
    }
  }

  void OnWritten() override {
    // What has been sent is destroyed only once the lock is free.
    std::shared_ptr<void> sent;
    uint64_t id = 0;
    Step step;
    {
      MutexLock lock(mutex_);
      id = sending_id_;
      sent = std::move(sending_);
      in_flight_bytes_ -= std::exchange(sending_bytes_, 0);
      is_writing_ = false;
      step = NextStep();
      step.reads = BeginRead();
    }
    if (step.reads) {
      CountWaits();
    } else {
      CountWaitOf(id);
    }
    Do(step);
  }

  void OnOver() override {
    is_over_ = true;
    End(absl::CancelledError("The stream is over."));
  }

 private:
  // A request whose payloads come in pieces.
  struct Arriving {
    // One of them is there: payloads that are put together, or that come in runs.
    std::unique_ptr<PayloadAssembly> payloads;
    std::unique_ptr<RunAssembly> runs;
    // Absent where it has been refused: what still comes is dropped.
    std::shared_ptr<StreamJob> job;
    // What it has of arriving_bytes_.
    uint64_t bytes = 0;
    // When the payloads must be complete.
    Clock::TimePoint time_limit = Clock::kNever;
    // Since when it has not been up to the client that they come, as far as time_limit does not
    // count that; nullopt: it is up to the client.
    std::optional<Clock::TimePoint> waits_since = {};
  };

  // A request that comes in runs.
  struct OpenRuns {
    // Runs whose results have been handed to gRPC.
    uint64_t sent = 0;
    // Whether payloads are missing.
    bool is_arriving = true;
  };

  // What is to be told to the call: decided under the lock, done without it.
  struct Step {
    std::optional<AnswerQueue::Message> message;
    // How the stream ends, which is told instead of a message.
    std::optional<absl::Status> end;
    bool reads = false;
  };

  // Does what the message asks for. An error ends the stream.
  absl::Status Take(grpc::ByteBuffer& bytes) {
    ReceivedMessage message;
    v1::ExecuteStreamRequest header;
    if (absl::Status status = message.Read(bytes, header); !status.ok()) return status;
    if (header.has_request() || header.has_sequence()) return Begin(header, std::move(message));
    if (header.cancel()) {
      Cancel(header.id());
      return absl::OkStatus();
    }
    return Continue(header.id(), std::move(message));
  }

  StreamJob::Owner& owner() { return *this; }

  absl::Status Begin(v1::ExecuteStreamRequest& header, ReceivedMessage message) {
    if (header.has_pipeline()) return BeginOffer(header, std::move(message));
    if (absl::Status status = CheckBegin(header); !status.ok()) return status;
    std::shared_ptr<StreamJob> job = StreamJob::Make(parts_, owner(), header);
    const bool comes_in_pieces = header.payload_bytes_size() > 0;
    const std::vector<uint64_t> lengths =
        comes_in_pieces
            ? std::vector<uint64_t>(header.payload_bytes().begin(), header.payload_bytes().end())
            : message.payload_bytes();
    if (!comes_in_pieces) job->OnReceived(TotalOf(lengths));
    absl::Status status = job->Accept(lengths, deadline_, message.header_bytes(), std::nullopt);
    if (status.ok()) status = CheckRoom(job->held_bytes());
    if (!comes_in_pieces) {
      if (status.ok()) {
        Submit(job, std::move(message));
      } else {
        job->Refuse(status);
      }
      return absl::OkStatus();
    }
    return BeginPieces(std::move(job), status, lengths, std::move(message));
  }

  // What every first message of a request must keep to.
  absl::Status CheckBegin(const v1::ExecuteStreamRequest& header) {
    if (IsUnderWay(header.id())) {
      return RuleError(
          "id", absl::StrCat("Request ", header.id(), " of this stream is under way already."));
    }
    if (header.request().payloads_size() > 0) {
      return RuleError("request.payloads", "Payloads belong into the field beside the request.");
    }
    if (!header.has_sequence()) return absl::OkStatus();
    if (header.sequence().payloads_size() > 0) {
      return RuleError("sequence.payloads", "Payloads belong into the field beside the sequence.");
    }
    // So that servers that know no sequences refuse what they take for a request.
    if (!header.has_request() || header.request().ByteSizeLong() > 0) {
      return RuleError("request", "With a sequence there is a request, and it is empty.");
    }
    return absl::OkStatus();
  }

  // Begins a request that came with an offer, and answers that.
  absl::Status BeginOffer(v1::ExecuteStreamRequest& header, ReceivedMessage message) {
    if (absl::Status status = CheckBegin(header); !status.ok()) return status;
    if (!message.places().empty() || header.payload_bytes_size() > 0) {
      return RuleError("pipeline", "With an offer come neither payloads nor payload_bytes.");
    }
    const v1::PipelineOffer& offer = header.pipeline();
    const std::vector<uint64_t> lengths(offer.payload_bytes().begin(), offer.payload_bytes().end());
    std::shared_ptr<StreamJob> job = StreamJob::Make(parts_, owner(), header);
    absl::Status status =
        job->Accept(lengths, deadline_, message.header_bytes(),
                    RunOffer{.run_bytes = offer.run_bytes(), .sends_ahead = offer.sends_ahead()});
    if (status.ok()) status = CheckRoom(job->held_bytes());
    if (!status.ok()) {
      job->Refuse(status);
      return absl::OkStatus();
    }
    Send(job->Terms());
    if (job->runs() != nullptr) return BeginRuns(std::move(job));
    return BeginPieces(std::move(job), status, lengths, std::move(message));
  }

  absl::Status BeginRuns(std::shared_ptr<StreamJob> job) {
    if (absl::Status status = CheckArriving(); !status.ok()) return status;
    const uint64_t id = job->id();
    Arriving arriving;
    arriving.runs = std::make_unique<RunAssembly>(*job->runs(), parts_.buffers);
    arriving.bytes = job->held_bytes();
    arriving.time_limit = job->accepted() + TimeFor(job->bytes());
    arriving.job = job;
    arriving_bytes_ += arriving.bytes;
    arriving_.emplace(id, std::move(arriving));
    MutexLock lock(mutex_);
    in_flight_bytes_ += job->held_bytes();
    running_.emplace(id, std::move(job));
    open_runs_[id] = {};
    ++arriving_runs_;
    // Released once the job has been answered.
    call_.Hold();
    return absl::OkStatus();
  }

  absl::Status CheckArriving() const {
    if (arriving_.size() < kMaxStreamRequests) return absl::OkStatus();
    return RuleError("payload_bytes", absl::StrCat("The payloads of ", arriving_.size(),
                                                   " requests are incomplete already."));
  }

  absl::Status BeginPieces(std::shared_ptr<StreamJob> job, absl::Status status,
                           const std::vector<uint64_t>& lengths, ReceivedMessage message) {
    const uint64_t id = job->id();
    if (absl::Status full = CheckArriving(); !full.ok()) return full;
    Arriving arriving;
    if (status.ok()) {
      arriving.payloads = std::make_unique<PayloadAssembly>(lengths);
      status = arriving.payloads->Allocate(parts_.buffers);
    }
    if (status.ok()) {
      // What CheckRoom was asked for. All that the steps of a sequence compute may be far more.
      arriving.bytes = job->held_bytes();
      arriving.time_limit = job->accepted() + TimeFor(job->bytes());
      arriving.job = std::move(job);
    } else {
      const uint64_t all[] = {TotalOf(lengths)};
      arriving.payloads = std::make_unique<PayloadAssembly>(all);
      job->Refuse(status);
    }
    arriving_bytes_ += arriving.bytes;
    arriving_.emplace(id, std::move(arriving));
    return Continue(id, std::move(message));
  }

  absl::Status Continue(uint64_t id, ReceivedMessage message) {
    const auto found = arriving_.find(id);
    if (found == arriving_.end()) {
      return RuleError("id", absl::StrCat("No payloads of request ", id, " are missing."));
    }
    Arriving& arriving = found->second;
    if (arriving.job != nullptr) arriving.job->OnReceived(TotalOf(message.payload_bytes()));
    if (arriving.runs != nullptr) return ContinueRuns(found, std::move(message));
    for (const PayloadPlace& piece : message.places()) {
      if (!arriving.payloads->Add(message.slices(), piece)) {
        return RuleError("payloads", absl::StrCat("A piece of ", piece.bytes,
                                                  " bytes is more than is missing of a payload of "
                                                  "request ",
                                                  id, "."));
      }
    }
    if (!arriving.payloads->complete()) return absl::OkStatus();
    Arriving complete = std::move(arriving);
    arriving_.erase(found);
    arriving_bytes_ -= complete.bytes;
    if (complete.job != nullptr) {
      complete.job->OnPayloadsComplete();
      Submit(complete.job, complete.payloads->Take());
    }
    return absl::OkStatus();
  }

  absl::Status ContinueRuns(std::map<uint64_t, Arriving>::iterator found, ReceivedMessage message) {
    const uint64_t id = found->first;
    Arriving& arriving = found->second;
    DropIfOver(arriving);
    const uint64_t end = EndOfOpenRuns(arriving);
    std::vector<ReceivedMessage> complete;
    const absl::Status status = arriving.runs->Add(std::move(message), end, complete);
    if (absl::IsOutOfRange(status)) {
      return RuleError("payloads",
                       absl::StrCat("A piece of request ", id, " ", status.message(), "."));
    }
    const std::shared_ptr<StreamJob> job = arriving.job;
    std::optional<ReceivedMessage> ahead = arriving.runs->TakeAhead();
    if (ahead && job != nullptr) job->TakeAhead(*std::move(ahead));
    if (arriving.runs->is_complete()) {
      arriving_bytes_ -= arriving.bytes;
      arriving_.erase(found);
      OnArrived(id);
    } else if (arriving.runs->run() >= end) {
      CountWait(arriving, parts_.clock.Now(), /*is_clients_turn=*/false);
    }
    if (job == nullptr) return absl::OkStatus();
    for (ReceivedMessage& run : complete) job->run_queue().Push(std::move(run));
    if (status.ok()) {
      SubmitRuns(job);
    } else {
      Stop(job, status);
    }
    return absl::OkStatus();
  }

  // Submits the runs that wait, one after the other, as long as nobody else does.
  void SubmitRuns(std::shared_ptr<StreamJob> job) {
    call_.Hold();
    for (;;) {
      RunQueue::Step step = job->run_queue().Begin();
      if (!step.refusal.ok()) job->Refuse(step.refusal);
      if (!step.run) break;
      job->Submit(*std::move(step.run));
      if (!job->run_queue().OnSubmitted()) break;
    }
    job.reset();
    call_.Release();
  }

  // Gives up a request that comes in runs: now, or once the run is answered that is at work.
  void Stop(const std::shared_ptr<StreamJob>& job, const absl::Status& why) {
    job->run_queue().Stop(why);
    SubmitRuns(job);
  }

  // Gives up any request that has been submitted.
  void Cancel(const std::shared_ptr<StreamJob>& job) {
    // Before the run that waits is refused, so that no other follows it.
    if (job->runs() != nullptr) Stop(job, CancelledError(parts_.clock.Now() - job->accepted()));
    job->Cancel();
  }

  // The first run that the client may not begin yet, of a request that comes in runs.
  uint64_t EndOfOpenRuns(const Arriving& arriving) const {
    if (arriving.job == nullptr) return UINT64_MAX;
    MutexLock lock(mutex_);
    const auto found = open_runs_.find(arriving.job->id());
    return found == open_runs_.end() ? UINT64_MAX
                                     : found->second.sent + arriving.job->runs()->max_open_runs;
  }

  // Whether it is up to the client that the request comes on, if it is read.
  bool IsClientsTurn(const Arriving& arriving) const {
    return arriving.runs == nullptr || arriving.runs->run() < EndOfOpenRuns(arriving);
  }

  // Adds to the request's time what has passed while the client could do nothing for it, and notes
  // whether it can from now on.
  static void CountWait(Arriving& arriving, Clock::TimePoint now, bool is_clients_turn) {
    // Of what was refused nothing is awaited.
    if (arriving.job == nullptr) return;
    if (arriving.waits_since) arriving.time_limit += now - *arriving.waits_since;
    arriving.waits_since = is_clients_turn ? std::nullopt : std::optional(now);
  }

  // The same for all requests: to be called when the server begins to read or ceases to, and now
  // and then. Returns the present time.
  Clock::TimePoint CountWaits() {
    const Clock::TimePoint now = parts_.clock.Now();
    const bool is_reading = IsReading();
    for (auto& [id, arriving] : arriving_) {
      CountWait(arriving, now, is_reading && IsClientsTurn(arriving));
    }
    return now;
  }

  // The same for one request, about which a message has been sent: the result of a run, perhaps,
  // after which the client may go on.
  void CountWaitOf(uint64_t id) {
    const auto found = arriving_.find(id);
    if (found == arriving_.end() || !found->second.waits_since) return;
    CountWait(found->second, parts_.clock.Now(), IsReading() && IsClientsTurn(found->second));
  }

  // All payloads of a request that comes in runs are there, or no more of them will come.
  void OnArrived(uint64_t id) {
    MutexLock lock(mutex_);
    const auto found = open_runs_.find(id);
    if (found == open_runs_.end()) return;
    if (std::exchange(found->second.is_arriving, false)) --arriving_runs_;
  }

  // Drops what still comes of a request whose run was refused.
  void DropIfOver(Arriving& arriving) {
    if (arriving.runs == nullptr || arriving.job == nullptr) return;
    if (!arriving.job->run_queue().has_ended()) return;
    arriving.job = nullptr;
    arriving_bytes_ -= std::exchange(arriving.bytes, 0);
    arriving.runs->Drop();
  }

  void Submit(const std::shared_ptr<StreamJob>& job, ReceivedMessage payloads) {
    {
      MutexLock lock(mutex_);
      in_flight_bytes_ += job->held_bytes();
      running_.emplace(job->id(), job);
      // Released once the job has been answered.
      call_.Hold();
    }
    job->Submit(std::move(payloads));
  }

  // How long the payloads of a request with so many bytes of tensors may take.
  Clock::Duration TimeFor(uint64_t bytes) const {
    return parts_.options.upload_grace + std::chrono::seconds(bytes / kLeastUploadBytesPerSecond);
  }

  // Refuses a request whose payloads come too slowly, and gives up what is held for it.
  void GiveUp(Arriving& arriving) {
    const std::shared_ptr<StreamJob> job = std::exchange(arriving.job, nullptr);
    const uint64_t bytes = job->bytes();
    arriving_bytes_ -= std::exchange(arriving.bytes, 0);
    const absl::Status why = MakeError(
        ErrorReason::UPLOAD_TOO_SLOW,
        absl::StrCat("The payloads of the request, with tensors of ", bytes,
                     " bytes, were not complete after ",
                     std::chrono::ceil<std::chrono::seconds>(TimeFor(bytes)).count(), " s."),
        {{"bytes_per_second", absl::StrCat(kLeastUploadBytesPerSecond)}});
    if (arriving.runs != nullptr) {
      arriving.runs->Drop();
      return Stop(job, why);
    }
    arriving.payloads->Drop();
    job->Refuse(why);
  }

  // Whether the next message has been asked for, so that it is the client's turn.
  bool IsReading() const {
    MutexLock lock(mutex_);
    return !may_read_;
  }

  // Gives a request up that waits, or whose payloads are not complete.
  void Cancel(uint64_t id) {
    if (const auto found = arriving_.find(id); found != arriving_.end()) {
      const std::shared_ptr<StreamJob> job = std::exchange(found->second.job, nullptr);
      arriving_bytes_ -= std::exchange(found->second.bytes, 0);
      // No more pieces of it may come.
      arriving_.erase(found);
      OnArrived(id);
      if (job == nullptr) return;
      if (job->runs() != nullptr) return Cancel(job);
      return job->Refuse(CancelledError(parts_.clock.Now() - job->accepted()));
    }
    std::shared_ptr<StreamJob> job;
    {
      MutexLock lock(mutex_);
      const auto found = running_.find(id);
      if (found != running_.end()) job = found->second;
    }
    if (job != nullptr) Cancel(job);
  }

  // No more messages are taken. After an error nothing more is answered, either.
  void End(const absl::Status& status) {
    arriving_.clear();
    std::vector<std::shared_ptr<StreamJob>> dropped;
    AnswerQueue unsent;
    Step step;
    {
      MutexLock lock(mutex_);
      if (end_ && !end_->ok()) return;
      end_ = status;
      if (!status.ok()) {
        unsent.Swap(answers_);
        for (const auto& [id, job] : running_) dropped.push_back(job);
      }
      step = NextStep();
    }
    Do(step);
    for (const auto& job : dropped) Cancel(job);
  }

  // StreamJob::Owner.
  const std::string& traceparent() const override { return traceparent_; }
  const Caller& caller() const override { return call_.caller(); }
  // Called in any thread.
  void OnAnswered(StreamJob& job, StreamAnswer answer) override {
    const bool is_last = answer.is_last;
    std::shared_ptr<StreamJob> held;
    call_.Guard([&] { Answer(job, std::move(answer), held); });
    if (held == nullptr) return;
    if (!is_last) {
      // Whoever submitted the run may be the one to go on, and be done before this is.
      call_.Hold();
      if (held->run_queue().OnAnswered()) SubmitRuns(held);
    }
    held.reset();
    call_.Release();
  }

  // Queues a message that is not the last about its request.
  void Send(StreamAnswer answer) {
    Step step;
    {
      MutexLock lock(mutex_);
      answers_.Push(std::move(answer));
      step = NextStep();
    }
    Do(step);
  }

  // Queues an answer. `held` gets the job, if it was submitted.
  void Answer(StreamJob& job, StreamAnswer answer, std::shared_ptr<StreamJob>& held) {
    Step step;
    {
      MutexLock lock(mutex_);
      // One that was refused before it was submitted is not there.
      const auto found = running_.find(job.id());
      if (found != running_.end()) {
        held = found->second;
        if (answer.is_last) {
          running_.erase(found);
          EndOpenRuns(job.id());
          answer.job = held;
          answer.budget_bytes = job.held_bytes();
        }
      }
      // A stream that has failed sends nothing more.
      if (!end_ || end_->ok()) answers_.Push(std::move(answer));
      step = NextStep();
    }
    Do(step);
  }

  void EndOpenRuns(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = open_runs_.find(id);
    if (found == open_runs_.end()) return;
    if (found->second.is_arriving) --arriving_runs_;
    open_runs_.erase(found);
  }

  // Whether payloads that come in pieces may be waited for.
  absl::Status CheckRoom(uint64_t bytes) const {
    const uint64_t limit = parts_.options.max_stream_bytes;
    if (bytes > limit) {
      return MakeError(ErrorReason::REQUEST_EXCEEDS_BUDGET,
                       absl::StrCat("The request holds ", bytes,
                                    " bytes of tensors; a stream may have ", limit, " under way."),
                       {{"limit", absl::StrCat(limit)}});
    }
    if (bytes <= limit - arriving_bytes_) return absl::OkStatus();
    return MakeRetryableError(
        ErrorReason::TOO_MANY_BYTES,
        "The requests whose payloads are incomplete fill the stream's budget.", milliseconds(100),
        {{"limit", absl::StrCat(limit)}});
  }

  bool IsUnderWay(uint64_t id) {
    if (arriving_.count(id) > 0) return true;
    MutexLock lock(mutex_);
    return running_.count(id) > 0;
  }

  // Whether the next message is to be asked for now: a client that sends faster than it is served,
  // or does not take its answers, has to wait.
  bool BeginRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool is_full = in_flight_bytes_ > parts_.options.max_stream_bytes ||
                         running_.size() - arriving_runs_ + answers_.size() >= kMaxStreamRequests;
    if (!may_read_ || is_full || end_) return false;
    may_read_ = false;
    return true;
  }

  // What is to be sent now: one message at a time, and the end after the last one.
  Step NextStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Step step;
    if (is_writing_) return step;
    if (!answers_.empty()) {
      step.message = answers_.Pop();
      NoteSent(*step.message);
      sending_id_ = step.message->header.id();
      sending_ = std::move(step.message->job);
      sending_bytes_ = step.message->budget_bytes;
      is_writing_ = true;
    } else if (end_ && !is_finished_ && running_.empty()) {
      is_finished_ = true;
      step.end = end_;
    }
    return step;
  }

  // Before the client has it, which may send more then.
  void NoteSent(const AnswerQueue::Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = open_runs_.find(message.header.id());
    // The terms have no payload.
    if (found == open_runs_.end() || message.piece.bytes == 0) return;
    if (message.is_end) ++found->second.sent;
  }

  // The lock is free here, so that the call's own is the only one that is held.
  void Do(const Step& step) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (step.message) call_.Write(step.message->Compose());
    if (step.end) call_.Finish(*step.end);
    if (step.reads) call_.Read();
  }

  const ExecuteParts& parts_;
  StreamCall& call_;
  const std::string traceparent_;
  const Clock::TimePoint deadline_;
  std::map<uint64_t, Arriving> arriving_;
  uint64_t arriving_bytes_ = 0;
  bool is_over_ = false;

  mutable Mutex mutex_;
  // Requests that wait for a device or run, and all those that come in runs.
  std::map<uint64_t, std::shared_ptr<StreamJob>> running_ ABSL_GUARDED_BY(mutex_);
  // Those of running_ that come in runs, and how many of them lack payloads.
  std::map<uint64_t, OpenRuns> open_runs_ ABSL_GUARDED_BY(mutex_);
  size_t arriving_runs_ ABSL_GUARDED_BY(mutex_) = 0;
  AnswerQueue answers_ ABSL_GUARDED_BY(mutex_);
  // Bytes of tensors that running jobs and answers hold.
  uint64_t in_flight_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Which request the message is about that is being sent; its job, where that is its last message,
  // and what that gives back to the budget then.
  uint64_t sending_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<void> sending_ ABSL_GUARDED_BY(mutex_);
  uint64_t sending_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // The message before has been dealt with, and the next one not been asked for.
  bool may_read_ ABSL_GUARDED_BY(mutex_) = false;
  // Set once no more messages are taken.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<StreamHandler> StartExecuteStream(const ExecuteParts& parts, StreamCall& call) {
  return std::make_unique<ExecuteStreamHandler>(parts, call);
}

}  // namespace opserve
