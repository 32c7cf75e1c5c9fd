#include "server/execute/stream_job.h"

#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "server/errors/errors.h"
#include "server/execute/execute_job.h"
#include "server/execute/sequence_job.h"

namespace opserve {
namespace {

// Where requests and responses of either kind are in the messages of a stream.
void MoveRequest(v1::ExecuteStreamRequest& message, v1::ExecuteRequest& request) {
  request = std::move(*message.mutable_request());
}
void MoveRequest(v1::ExecuteStreamRequest& message, v1::ExecuteSequenceRequest& request) {
  request = std::move(*message.mutable_sequence());
}
void SetResponse(const v1::ExecuteResponse& response, v1::ExecuteStreamResponse& message) {
  *message.mutable_response() = response;
}
void SetResponse(const v1::ExecuteSequenceResponse& response, v1::ExecuteStreamResponse& message) {
  *message.mutable_sequence() = response;
}

// Tells how long the payloads of an answer are.
void SetLengths(std::span<const uint64_t> lengths, v1::ExecuteStreamResponse& message) {
  message.set_payload_bytes(std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}));
  if (lengths.size() < 2) return;
  message.mutable_each_payload_bytes()->Assign(lengths.begin(), lengths.end());
}

// `AnyJob`: an ExecuteJob or a SequenceJob.
template <class AnyJob>
class StreamJobOf final : public StreamJob, private AnyJob::Reply, private RequestSource {
 public:
  StreamJobOf(const ExecuteParts& parts, Owner& owner, v1::ExecuteStreamRequest& message)
      : StreamJob(message.id()), parts_(parts), owner_(owner), job_(parts, *this) {
    MoveRequest(message, job_.request());
    if (parts_.observer == nullptr) return;
    record_.method = kStreamMethod;
    record_.start = SteadyClock().Now();
  }

  ~StreamJobOf() override {
    if (parts_.observer == nullptr) return;
    if (is_reported_) {
      // A refusal does not keep its job until it is sent.
      if (record_.code == absl::StatusCode::kOk) ReportSent(*parts_.observer, record_);
      return;
    }
    record_.request_id = job_.request().request_id();
    bytes_out_ = 0;
    Report(absl::CancelledError());
  }

  const RunPlan* runs() const override { return job_.work().runs().plan(); }
  uint64_t bytes() const override {
    return runs() == nullptr ? job_.traits().bytes : runs()->bytes();
  }
  uint64_t held_bytes() const override { return job_.held_bytes(); }
  Clock::TimePoint accepted() const override { return job_.traits().accepted; }

  void OnReceived(uint64_t bytes) override {
    received_.fetch_add(bytes, std::memory_order_relaxed);
  }

  absl::Status Accept(std::vector<uint64_t> payload_bytes, Clock::TimePoint deadline,
                      size_t header_bytes, std::optional<RunOffer> offer) override {
    is_offered_ = offer.has_value();
    OnReceived(header_bytes);
    return job_.Accept(std::move(payload_bytes), {.deadline = deadline,
                                                  .answers_in_one_message = false,
                                                  .header_bytes = header_bytes,
                                                  .offer = offer});
  }

  StreamAnswer Terms() const override {
    StreamAnswer answer;
    answer.is_last = false;
    answer.header.set_id(id());
    v1::PipelineTerms& terms = *answer.header.mutable_pipeline();
    if (runs() == nullptr) {
      terms.set_reason(job_.work().runs().why_whole());
      return answer;
    }
    for (const uint64_t length : runs()->LengthsOf(0)) terms.add_run_bytes(length);
    terms.set_max_open_runs(static_cast<uint32_t>(runs()->max_open_runs));
    SetLengths(job_.work().ResultLengths(), answer.header);
    return answer;
  }

  void TakeAhead(ReceivedMessage payloads) override {
    job_.work().runs().TakeAhead(std::move(payloads), parts_.buffers);
  }
  void Submit(ReceivedMessage payloads) override { job_.Submit(std::move(payloads)); }
  void OnPayloadsComplete() override {
    if (parts_.observer == nullptr) return;
    const Clock::TimePoint now = SteadyClock().Now();
    record_.received = now - std::exchange(record_.start, now);
  }
  void Refuse(const absl::Status& why) override { job_.Refuse(why); }
  void Cancel() override { job_.Cancel(); }

 private:
  const Caller& caller() const override { return owner_.caller(); }
  RequestRecord* record() override { return parts_.observer == nullptr ? nullptr : &record_; }
  std::string client() const override { return owner_.caller().client(); }
  std::string traceparent() const override { return owner_.traceparent(); }

  void Send(const typename AnyJob::Response& header, std::span<OutgoingPayload> payloads) override {
    StreamAnswer answer;
    answer.header.set_id(id());
    absl::InlinedVector<uint64_t, 1> lengths;
    for (OutgoingPayload& payload : payloads) {
      lengths.push_back(payload.bytes);
      bytes_out_ += payload.bytes;
      answer.payloads.push_back(std::move(payload));
    }
    answer.is_last = job_.work().runs().has_ended();
    answer.is_of_run = runs() != nullptr;
    if (runs() == nullptr) SetLengths(lengths, answer.header);
    if (answer.is_last) SetResponse(header, answer.header);
    bytes_out_ += answer.header.ByteSizeLong();
    if (answer.is_last) {
      run_queue().End();
      Report(absl::OkStatus());
    }
    owner_.OnAnswered(*this, std::move(answer));
  }

  void Fail(const absl::Status& why) override {
    StreamAnswer answer;
    answer.header.set_id(id());
    answer.header.set_error(StatusDetails(why));
    if (is_offered_) answer.header.mutable_pipeline();
    // The client learns that it is not the sequence that is unknown.
    if constexpr (std::is_same_v<AnyJob, SequenceJob>) answer.header.mutable_sequence();
    bytes_out_ += answer.header.ByteSizeLong();
    run_queue().End();
    Report(why);
    owner_.OnAnswered(*this, std::move(answer));
  }

  void Report(const absl::Status& status) {
    if (parts_.observer == nullptr) return;
    is_reported_ = true;
    record_.bytes_in = received_.load(std::memory_order_relaxed);
    ReportEnd(*parts_.observer, record_, status, bytes_out_, *this);
  }

  const ExecuteParts& parts_;
  Owner& owner_;
  // What is announced and never comes is not counted. Pieces come while others are computed.
  std::atomic<uint64_t> received_ = 0;
  RequestRecord record_;
  bool is_reported_ = false;
  // Whether it came with an offer.
  bool is_offered_ = false;
  // The size of all answers so far, with their headers.
  uint64_t bytes_out_ = 0;
  AnyJob job_;
};

}  // namespace

std::shared_ptr<StreamJob> StreamJob::Make(const ExecuteParts& parts, Owner& owner,
                                           v1::ExecuteStreamRequest& message) {
  if (message.has_sequence()) {
    return std::make_shared<StreamJobOf<SequenceJob>>(parts, owner, message);
  }
  return std::make_shared<StreamJobOf<ExecuteJob>>(parts, owner, message);
}

}  // namespace opserve
