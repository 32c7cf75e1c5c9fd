#include "server/execute/stream_job.h"

#include "server/errors/errors.h"

namespace opserve {

StreamJob::StreamJob(const ExecuteParts& parts, Owner& owner, uint64_t id,
                     v1::ExecuteRequest request)
    : id_(id), owner_(owner), job_(parts, *this) {
  job_.request() = std::move(request);
}

absl::Status StreamJob::Accept(std::vector<uint64_t> payload_bytes, Clock::TimePoint deadline,
                               size_t header_bytes) {
  return job_.Accept(
      std::move(payload_bytes),
      {.deadline = deadline, .answers_in_one_message = false, .header_bytes = header_bytes});
}

void StreamJob::Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) {
  StreamAnswer answer;
  answer.header.set_id(id_);
  *answer.header.mutable_response() = header;
  answer.payload = std::move(payloads.front());
  owner_.OnAnswered(*this, std::move(answer));
}

void StreamJob::Fail(const absl::Status& why) {
  StreamAnswer answer;
  answer.header.set_id(id_);
  answer.header.set_error(StatusDetails(why));
  owner_.OnAnswered(*this, std::move(answer));
}

}  // namespace opserve
