#include "server/execute_job.h"

#include <new>
#include <utility>
#include <vector>

#include "kernels/utf8.h"
#include "server/errors.h"
#include "server/wire.h"

namespace opserve {

absl::Status ExecuteJob::Accept(std::span<const uint64_t> payload_bytes, JobOrigin origin) {
  RequestHeader header = HeaderOf(request_, payload_bytes);
  header.answers_in_one_message = origin.answers_in_one_message;
  auto invocation = parts_.validator.Validate(header);
  if (!invocation.ok()) return invocation.status();
  invocation_ = *std::move(invocation);

  JobTraits traits;
  traits.lane = LaneKeyOf(*invocation_);
  traits.bytes = invocation_->output_bytes;
  for (const uint64_t bytes : payload_bytes) traits.bytes += bytes;
  auto permit = parts_.admission.Admit(traits.bytes);
  if (!permit.ok()) return permit.status();
  permit_ = *std::move(permit);

  client_ = std::move(origin.client);
  traits.priority = PriorityOf(header);
  traits.placement = PlacementOf(header, parts_.options.placement);
  traits.verify = header.verify;
  traits.accepted = parts_.clock.Now();
  traits.deadline = origin.deadline;
  set_traits(std::move(traits));
  return absl::OkStatus();
}

void ExecuteJob::Submit(std::unique_ptr<PayloadSource> payloads) {
  payloads_ = std::move(payloads);
  if (parts_.pool.RunInline(*this)) return;
  JobTraits waiting = traits();
  waiting.client = client_();
  set_traits(std::move(waiting));
  // From here on another thread may answer at any time.
  if (!parts_.pool.Submit(*this)) Refuse(DrainingError());
}

absl::StatusOr<DeviceCall> ExecuteJob::Prepare() {
  if (!call_) {
    try {
      const auto payloads = payloads_->Payloads(parts_.buffers);
      output_ = std::make_shared<HostBuffer>(parts_.buffers.Take(invocation_->output_bytes));
      call_ = {invocation_.get(), InputsOf(payloads, *invocation_), output_->data()};
    } catch (const std::bad_alloc&) {
      return OutOfMemoryError();
    }
  }
  return *call_;
}

void ExecuteJob::Answer(const RunRecord& record) {
  v1::ExecuteResponse header;
  WriteResponseHeader(request_, *invocation_, record, header);
  // The next request finds these buffers warm.
  payloads_.reset();
  LogAnswer(record);
  const std::byte* const data = output_->data();
  reply_.Send(header, {data, invocation_->output_bytes, std::move(output_)});
}

void ExecuteJob::Refuse(const absl::Status& why) {
  LogRefusal(why);
  reply_.Fail(why);
}

void ExecuteJob::LogAnswer(const RunRecord& record) const {
  Logger& logger = parts_.logger;
  if (!logger.enabled(LogLevel::kDebug)) return;
  logger.Log(LogLevel::kDebug, "request answered",
             {{"id", request_.request_id()},
              {"operator", request_.operator_()},
              {"output_bytes", invocation_->output_bytes},
              {"queued_ns", record.queued.count()},
              {"run_ns", record.ran.count()},
              {"batch_size", record.batch_size},
              {"device", record.device}});
}

void ExecuteJob::LogRefusal(const absl::Status& status) const {
  Logger& logger = parts_.logger;
  if (!logger.enabled(LogLevel::kInfo)) return;
  const std::optional<uint64_t> held_back = parts_.refusals.Pass();
  if (!held_back) return;
  logger.Log(LogLevel::kInfo, "request refused",
             {{"id", TruncateUtf8(request_.request_id(), kMaxRequestIdBytes)},
              {"operator", TruncateUtf8(request_.operator_(), 64)},
              {"code", absl::StatusCodeToString(status.code())},
              {"message", status.message()},
              {"not_logged", *held_back}});
}

}  // namespace opserve
