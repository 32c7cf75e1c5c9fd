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
#include "server/execute/stream_job.h"
#include "server/rpc/stream_call.h"
#include "server/wire/received_message.h"

namespace opserve {
namespace {

using std::chrono::milliseconds;

// A client that sends slower than this holds memory for longer than a request is worth.
constexpr uint64_t kLeastUploadBytesPerSecond = 1 << 20;

// The error of a message after which nobody can tell which bytes belong to which request.
absl::Status RuleError(absl::string_view field, std::string what) {
  return MakeViolationError({std::string(field), std::move(what)});
}

// At most the largest number that there is.
uint64_t SumOf(const std::vector<uint64_t>& lengths) {
  uint64_t sum = 0;
  for (const uint64_t length : lengths) sum += std::min(length, UINT64_MAX - sum);
  return sum;
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
    Do(step);
  }

  void OnMessagesEnd() override {
    if (arriving_.empty()) return End(absl::OkStatus());
    End(RuleError("payloads", absl::StrCat("The stream ends in the middle of request ",
                                           arriving_.begin()->first, ".")));
  }

  bool is_waiting() const override { return !arriving_.empty(); }

  void OnTick() override {
    const Clock::TimePoint now = parts_.clock.Now();
    const Clock::Duration since_last = now - std::exchange(last_tick_, now);
    const bool is_reading = IsReading();
    for (auto& [id, arriving] : arriving_) {
      if (!is_reading) arriving.time_limit += since_last;
      if (arriving.job != nullptr && now > arriving.time_limit) GiveUp(arriving);
    }
  }

  void OnWritten() override {
    // What has been sent is destroyed only once the lock is free.
    std::shared_ptr<void> sent;
    Step step;
    {
      MutexLock lock(mutex_);
      sent = std::move(sending_);
      in_flight_bytes_ -= std::exchange(sending_bytes_, 0);
      is_writing_ = false;
      step = NextStep();
      step.reads = BeginRead();
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
    std::unique_ptr<PayloadAssembly> payloads;
    // Absent where it has been refused: what still comes is dropped.
    std::shared_ptr<StreamJob> job;
    uint64_t bytes = 0;
    // When the payloads must be complete.
    Clock::TimePoint time_limit = Clock::kNever;
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
    if (header.has_request()) return Begin(header, std::move(message));
    if (header.cancel()) {
      Cancel(header.id());
      return absl::OkStatus();
    }
    return Continue(header.id(), message);
  }

  StreamJob::Owner& owner() { return *this; }

  absl::Status Begin(v1::ExecuteStreamRequest& header, ReceivedMessage message) {
    const uint64_t id = header.id();
    if (IsUnderWay(id)) {
      return RuleError("id", absl::StrCat("Request ", id, " of this stream is under way already."));
    }
    if (header.request().payloads_size() > 0) {
      return RuleError("request.payloads", "Payloads belong into the field beside the request.");
    }
    auto job =
        std::make_shared<StreamJob>(parts_, owner(), id, std::move(*header.mutable_request()));
    const bool comes_in_pieces = header.payload_bytes_size() > 0;
    const std::vector<uint64_t> lengths =
        comes_in_pieces
            ? std::vector<uint64_t>(header.payload_bytes().begin(), header.payload_bytes().end())
            : message.payload_bytes();
    absl::Status status = job->Accept(lengths, deadline_, message.header_bytes());
    if (status.ok()) status = CheckRoom(job->bytes());
    if (!comes_in_pieces) {
      if (status.ok()) {
        Submit(job, std::move(message));
      } else {
        job->Refuse(status);
      }
      return absl::OkStatus();
    }
    return BeginPieces(std::move(job), status, lengths, message);
  }

  absl::Status BeginPieces(std::shared_ptr<StreamJob> job, absl::Status status,
                           const std::vector<uint64_t>& lengths, const ReceivedMessage& message) {
    const uint64_t id = job->id();
    if (arriving_.size() >= kMaxStreamRequests) {
      return RuleError("payload_bytes", absl::StrCat("The payloads of ", arriving_.size(),
                                                     " requests are incomplete already."));
    }
    Arriving arriving;
    if (status.ok()) {
      arriving.payloads = std::make_unique<PayloadAssembly>(lengths);
      status = arriving.payloads->Allocate(parts_.buffers);
    }
    if (status.ok()) {
      arriving.bytes = job->bytes();
      arriving.time_limit = job->accepted() + TimeFor(arriving.bytes);
      arriving.job = std::move(job);
    } else {
      const uint64_t all[] = {SumOf(lengths)};
      arriving.payloads = std::make_unique<PayloadAssembly>(all);
      job->Refuse(status);
    }
    arriving_bytes_ += arriving.bytes;
    arriving_.emplace(id, std::move(arriving));
    return Continue(id, message);
  }

  absl::Status Continue(uint64_t id, const ReceivedMessage& message) {
    const auto found = arriving_.find(id);
    if (found == arriving_.end()) {
      return RuleError("id", absl::StrCat("No payloads of request ", id, " are missing."));
    }
    Arriving& arriving = found->second;
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

  void Submit(const std::shared_ptr<StreamJob>& job, ReceivedMessage payloads) {
    {
      MutexLock lock(mutex_);
      in_flight_bytes_ += job->bytes();
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
    const uint64_t bytes = std::exchange(arriving.bytes, 0);
    arriving_bytes_ -= bytes;
    arriving.payloads->Drop();
    job->Refuse(MakeError(
        ErrorReason::UPLOAD_TOO_SLOW,
        absl::StrCat("The payloads of the request, with tensors of ", bytes,
                     " bytes, were not complete after ",
                     std::chrono::ceil<std::chrono::seconds>(TimeFor(bytes)).count(), " s."),
        {{"bytes_per_second", absl::StrCat(kLeastUploadBytesPerSecond)}}));
  }

  // Whether the next message has been asked for, so that it is the client's turn.
  bool IsReading() {
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
      if (job != nullptr) job->Refuse(CancelledError(parts_.clock.Now() - job->accepted()));
      return;
    }
    std::shared_ptr<StreamJob> job;
    {
      MutexLock lock(mutex_);
      const auto found = running_.find(id);
      if (found != running_.end()) job = found->second;
    }
    if (job != nullptr) job->Cancel();
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
    for (const auto& job : dropped) job->Cancel();
  }

  // StreamJob::Owner.
  const std::string& traceparent() const override { return traceparent_; }
  const Caller& caller() const override { return call_.caller(); }
  // Called in any thread.
  void OnAnswered(StreamJob& job, StreamAnswer answer) override {
    std::shared_ptr<StreamJob> held;
    call_.Guard([&] { Answer(job, std::move(answer), held); });
    if (held == nullptr) return;
    held.reset();
    call_.Release();
  }

  // Queues an answer. `held` gets the job, if it was submitted.
  void Answer(StreamJob& job, StreamAnswer answer, std::shared_ptr<StreamJob>& held) {
    Step step;
    {
      MutexLock lock(mutex_);
      // One that was refused before it was submitted is not there.
      const auto found = running_.find(job.id());
      if (found != running_.end()) {
        held = std::move(found->second);
        running_.erase(found);
        answer.job = held;
        answer.budget_bytes = job.bytes();
      }
      // A stream that has failed sends nothing more.
      if (!end_ || end_->ok()) answers_.Push(std::move(answer));
      step = NextStep();
    }
    Do(step);
  }

  // Whether payloads that come in pieces may be waited for.
  absl::Status CheckRoom(uint64_t bytes) const {
    const uint64_t limit = parts_.options.max_stream_bytes;
    if (bytes > limit) {
      return MakeError(ErrorReason::REQUEST_EXCEEDS_BUDGET,
                       absl::StrCat("The tensors of the request have ", bytes,
                                    " bytes; a stream may have ", limit, " under way."),
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
                         running_.size() + answers_.size() >= kMaxStreamRequests;
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
      sending_ = std::move(step.message->job);
      sending_bytes_ = step.message->budget_bytes;
      is_writing_ = true;
    } else if (end_ && !is_finished_ && running_.empty()) {
      is_finished_ = true;
      step.end = end_;
    }
    return step;
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
  Clock::TimePoint last_tick_ = parts_.clock.Now();
  bool is_over_ = false;

  Mutex mutex_;
  // Requests that wait for a device or run.
  std::map<uint64_t, std::shared_ptr<StreamJob>> running_ ABSL_GUARDED_BY(mutex_);
  AnswerQueue answers_ ABSL_GUARDED_BY(mutex_);
  // Bytes of the tensors of running jobs and of answers.
  uint64_t in_flight_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The job whose last message is being sent, and what that gives back to the budget then.
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
