#include "server/execute/stream_job.h"

#include <utility>

#include "server/errors/errors.h"

namespace opserve {

StreamJob::StreamJob(const ExecuteParts& parts, Owner& owner, uint64_t id,
                     v1::ExecuteRequest request)
    : parts_(parts), id_(id), owner_(owner), job_(parts, *this) {
  job_.request() = std::move(request);
  if (parts_.observer == nullptr) return;
  record_.method = kStreamMethod;
  record_.start = SteadyClock().Now();
}

StreamJob::~StreamJob() {
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

absl::Status StreamJob::Accept(std::vector<uint64_t> payload_bytes, Clock::TimePoint deadline,
                               size_t header_bytes, std::optional<RunOffer> offer) {
  is_offered_ = offer.has_value();
  record_.bytes_in = header_bytes;
  for (const uint64_t bytes : payload_bytes) record_.bytes_in += bytes;
  return job_.Accept(std::move(payload_bytes), {.deadline = deadline,
                                                .answers_in_one_message = false,
                                                .header_bytes = header_bytes,
                                                .offer = offer});
}

StreamAnswer StreamJob::Terms() const {
  StreamAnswer answer;
  answer.is_last = false;
  answer.header.set_id(id_);
  v1::PipelineTerms& terms = *answer.header.mutable_pipeline();
  if (runs() == nullptr) {
    terms.set_reason(std::string(job_.work().why_whole()));
    return answer;
  }
  for (const uint64_t length : runs()->LengthsOf(0)) terms.add_run_bytes(length);
  terms.set_max_open_runs(static_cast<uint32_t>(runs()->max_open_runs));
  answer.header.set_payload_bytes(job_.work().result_bytes());
  return answer;
}

void StreamJob::OnPayloadsComplete() {
  if (parts_.observer == nullptr) return;
  const Clock::TimePoint now = SteadyClock().Now();
  record_.received = now - std::exchange(record_.start, now);
}

void StreamJob::Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) {
  StreamAnswer answer;
  answer.header.set_id(id_);
  answer.payload = std::move(payloads.front());
  answer.is_last = runs() == nullptr || job_.work().has_ended();
  if (runs() == nullptr) answer.header.set_payload_bytes(answer.payload.bytes);
  if (answer.is_last) *answer.header.mutable_response() = header;
  bytes_out_ += answer.header.ByteSizeLong() + answer.payload.bytes;
  if (answer.is_last) {
    run_queue_.End();
    Report(absl::OkStatus());
  }
  owner_.OnAnswered(*this, std::move(answer));
}

void StreamJob::Fail(const absl::Status& why) {
  StreamAnswer answer;
  answer.header.set_id(id_);
  answer.header.set_error(StatusDetails(why));
  if (is_offered_) answer.header.mutable_pipeline();
  bytes_out_ += answer.header.ByteSizeLong();
  run_queue_.End();
  Report(why);
  owner_.OnAnswered(*this, std::move(answer));
}

void StreamJob::Report(const absl::Status& status) {
  if (parts_.observer == nullptr) return;
  is_reported_ = true;
  ReportEnd(*parts_.observer, record_, status, bytes_out_, *this);
}

}  // namespace opserve
