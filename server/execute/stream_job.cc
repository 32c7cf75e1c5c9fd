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
  Report(absl::CancelledError(), 0);
}

absl::Status StreamJob::Accept(std::vector<uint64_t> payload_bytes, Clock::TimePoint deadline,
                               size_t header_bytes) {
  record_.bytes_in = header_bytes;
  for (const uint64_t bytes : payload_bytes) record_.bytes_in += bytes;
  return job_.Accept(
      std::move(payload_bytes),
      {.deadline = deadline, .answers_in_one_message = false, .header_bytes = header_bytes});
}

void StreamJob::OnPayloadsComplete() {
  if (parts_.observer == nullptr) return;
  const Clock::TimePoint now = SteadyClock().Now();
  record_.received = now - std::exchange(record_.start, now);
}

void StreamJob::Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) {
  StreamAnswer answer;
  answer.header.set_id(id_);
  *answer.header.mutable_response() = header;
  answer.payload = std::move(payloads.front());
  Report(absl::OkStatus(), answer.header.ByteSizeLong() + answer.payload.bytes);
  owner_.OnAnswered(*this, std::move(answer));
}

void StreamJob::Fail(const absl::Status& why) {
  StreamAnswer answer;
  answer.header.set_id(id_);
  answer.header.set_error(StatusDetails(why));
  Report(why, answer.header.ByteSizeLong());
  owner_.OnAnswered(*this, std::move(answer));
}

void StreamJob::Report(const absl::Status& status, uint64_t bytes_out) {
  if (parts_.observer == nullptr) return;
  is_reported_ = true;
  ReportEnd(*parts_.observer, record_, status, bytes_out, *this);
}

}  // namespace opserve
