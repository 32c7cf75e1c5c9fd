#include "server/kserve/infer_stream.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/mutex.h"
#include "server/kserve/infer_job.h"
#include "server/rpc/message_bytes.h"
#include "server/wire/wire_message.h"

namespace opserve {
namespace {

constexpr absl::string_view kMethod = "ModelStreamInfer";

// `response` with its payload, which is not copied, as the only field of a
// ModelStreamInferResponse.
grpc::ByteBuffer ComposeWithin(const inference::ModelInferResponse& response,
                               OutgoingPayload& payload) {
  const grpc::ByteBuffer inner = ComposeMessage(response, {&payload, 1}, kRawOutputField);
  std::vector<grpc::Slice> slices;
  if (!inner.Dump(&slices).ok()) return {};
  slices.insert(
      slices.begin(),
      FieldPrefix(inference::ModelStreamInferResponse::kInferResponseFieldNumber, inner.Length()));
  return {slices.data(), slices.size()};
}

// One request of a stream, and its answer until that is sent: it holds its share of the server as
// long.
class StreamedInfer final : private InferJob::Owner, private RequestSource {
 public:
  class Owner {
   public:
    virtual StreamCall& call() = 0;
    // The metadata `traceparent` of the stream.
    virtual const std::string& traceparent() const = 0;
    // The answer to `request` is ready. Called once, on any thread; the request may be gone when
    // this returns.
    virtual void OnAnswered(StreamedInfer& request, const grpc::ByteBuffer& answer) = 0;

   protected:
    ~Owner() = default;
  };

  // All must outlive the request.
  StreamedInfer(const ExecuteParts& parts, const SystemMemory& memory, Owner& owner,
                uint64_t message_bytes)
      : parts_(parts), owner_(owner), job_(parts, memory, *this) {
    record_.method = kMethod;
    record_.bytes_in = message_bytes;
    record_.start = SteadyClock().Now();
  }

  ~StreamedInfer() {
    if (parts_.observer != nullptr && answer_) ReportSent(*parts_.observer, record_);
  }

  // As those of InferJob. The stream is held until the request is answered.
  void Start(grpc::ByteBuffer& message, Clock::TimePoint deadline) {
    owner_.call().Hold();
    job_.Start(message, deadline);
  }
  void Cancel() { job_.Cancel(); }

  // What the stream counts it with, once Start has returned: a request that has a small message may
  // hold much, in shared memory or for its result.
  uint64_t held_bytes() const { return std::max(record_.bytes_in, job_.held_bytes()); }

  // With the stream's lock.
  bool is_answered() const { return answer_.has_value(); }
  void set_answer(const grpc::ByteBuffer& answer) { answer_ = answer; }
  const grpc::ByteBuffer& answer() const { return *answer_; }

 private:
  const Caller& caller() const override { return owner_.call().caller(); }
  std::string client() const override { return caller().client(); }
  std::string traceparent() const override { return owner_.traceparent(); }
  RequestRecord* record() override { return parts_.observer == nullptr ? nullptr : &record_; }

  void OnInferred(const inference::ModelInferResponse& response, OutgoingPayload payload) override {
    Answer(absl::OkStatus(), [&] { return ComposeWithin(response, payload); });
  }

  void OnRefused(const absl::Status& why) override {
    Answer(why, [&] {
      inference::ModelStreamInferResponse response;
      response.set_error_message(std::string(why.message()));
      response.mutable_infer_response()->set_id(job_.id());
      return SerializeMessage(response);
    });
  }

  template <class Compose>
  void Answer(const absl::Status& status, const Compose& compose) {
    StreamCall& call = owner_.call();
    call.Guard([&] {
      const grpc::ByteBuffer message = compose();
      if (parts_.observer != nullptr) {
        ReportEnd(*parts_.observer, record_, status, message.Length(), *this);
      }
      owner_.OnAnswered(*this, message);
    });
    call.Release();
  }

  const ExecuteParts& parts_;
  Owner& owner_;
  RequestRecord record_;
  InferJob job_;
  std::optional<grpc::ByteBuffer> answer_;
};

// Members without a guard belong to the poller's thread, and so does the end of each request: who
// answers one only tells of it.
class InferStream final : public StreamHandler, private StreamedInfer::Owner {
 public:
  InferStream(const ExecuteParts& parts, const SystemMemory& memory, StreamCall& call)
      : parts_(parts),
        memory_(memory),
        call_(call),
        traceparent_(parts.observer == nullptr ? std::string() : call.traceparent()),
        deadline_(call.deadline()) {
    call_.Read();
  }

  void OnMessage(grpc::ByteBuffer& message) override {
    if (is_over_) return;
    auto request =
        std::make_unique<StreamedInfer>(parts_, memory_, owner(), uint64_t{message.Length()});
    StreamedInfer& started = *request;
    {
      MutexLock lock(mutex_);
      requests_.push_back(std::move(request));
    }
    started.Start(message, deadline_);
    // It may be answered already, and is there until this thread has learned that it was sent.
    held_bytes_ += started.held_bytes();
    is_reading_ = false;
    ReadOn();
  }

  void OnMessagesEnd() override {
    MutexLock lock(mutex_);
    is_ending_ = true;
    SendAnswers();
  }

  void OnWritten() override {
    // It is destroyed only once the lock is free.
    std::unique_ptr<StreamedInfer> sent;
    {
      MutexLock lock(mutex_);
      sent = std::move(requests_.front());
      requests_.pop_front();
      --sent_;
    }
    held_bytes_ -= sent->held_bytes();
    ReadOn();
  }

  void OnOver() override {
    is_over_ = true;
    std::vector<StreamedInfer*> started;
    {
      MutexLock lock(mutex_);
      for (const auto& request : requests_) {
        if (!request->is_answered()) started.push_back(request.get());
      }
    }
    for (StreamedInfer* const request : started) request->Cancel();
  }

 private:
  StreamedInfer::Owner& owner() { return *this; }
  StreamCall& call() override { return call_; }
  const std::string& traceparent() const override { return traceparent_; }

  void OnAnswered(StreamedInfer& request, const grpc::ByteBuffer& answer) override {
    MutexLock lock(mutex_);
    request.set_answer(answer);
    SendAnswers();
  }

  // Hands over the answers that none before them keeps waiting, and the end behind the last one.
  // With the lock, so that none overtakes another; the call never asks for it while it has its own.
  void SendAnswers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (; sent_ < requests_.size() && requests_[sent_]->is_answered(); ++sent_) {
      call_.Write(requests_[sent_]->answer());
    }
    if (is_ending_ && sent_ == requests_.size()) call_.Finish(absl::OkStatus());
  }

  // Reads the next message, if there is room for it and nobody does. What it holds is known once it
  // is there, so it is taken however much that is. In the poller's thread.
  void ReadOn() {
    const uint64_t most = std::min(kMaxInferStreamBytes, parts_.options.max_stream_bytes);
    {
      MutexLock lock(mutex_);
      if (is_reading_ || is_ending_ || requests_.size() >= kMaxInferStreamRequests) return;
      if (!requests_.empty() && held_bytes_ >= most) return;
    }
    is_reading_ = true;
    call_.Read();
  }

  const ExecuteParts& parts_;
  const SystemMemory& memory_;
  StreamCall& call_;
  const std::string traceparent_;
  const Clock::TimePoint deadline_;
  bool is_over_ = false;
  bool is_reading_ = true;
  // By all requests together.
  uint64_t held_bytes_ = 0;

  Mutex mutex_;
  // In the order in which they came, until their answers have been sent.
  std::deque<std::unique_ptr<StreamedInfer>> requests_ ABSL_GUARDED_BY(mutex_);
  // Of the first of them, the answers have been handed over.
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;
  // The client sends no more.
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<StreamHandler> StartInferStream(const ExecuteParts& parts,
                                                const SystemMemory& memory, StreamCall& call) {
  return std::make_unique<InferStream>(parts, memory, call);
}

}  // namespace opserve
