#include "server/execute/execute_job.h"

#include <new>
#include <utility>
#include <vector>

#include "kernels/utf8.h"
#include "server/errors/errors.h"
#include "server/wire/wire.h"

namespace opserve {

namespace {

// Smaller results are copied into their message, which costs less than sending them from elsewhere.
constexpr uint64_t kMinInPlaceBytes = 16 << 10;

}  // namespace

absl::Status ExecuteJob::Accept(std::vector<uint64_t> payload_bytes, const JobOrigin& origin) {
  std::vector<Violation> violations;
  absl::Status status = FindPlaces(std::move(payload_bytes), violations);
  if (!status.ok()) return status;
  RequestHeader header = HeaderOf(request_, inputs_.bytes());
  header.call.payload_fields = inputs_.fields();
  header.answers_in_one_message = origin.answers_in_one_message && !output_place_.is_set();
  auto invocation = parts_.validator.Validate(header, std::move(violations));
  if (!invocation.ok()) return invocation.status();
  invocation_ = *std::move(invocation);
  if (status = CheckOutputPlace(); !status.ok()) return status;

  JobTraits traits;
  traits.lane = LaneKeyOf(*invocation_);
  traits.bytes = invocation_->output_bytes;
  for (const uint64_t bytes : inputs_.bytes()) traits.bytes += bytes;
  auto permit = parts_.admission.Admit(traits.bytes);
  if (!permit.ok()) return permit.status();
  permit_ = *std::move(permit);

  traits.priority = PriorityOf(header);
  traits.placement = PlacementOf(header, parts_.options.placement);
  traits.home = inputs_.home().empty() ? output_place_.home() : inputs_.home();
  traits.verify = header.verify;
  traits.accepted = parts_.clock.Now();
  traits.deadline = origin.deadline;
  copies_regions_ = CopiesRegions(traits.placement, parts_.pool.has_gpus());
  is_direct_ = is_direct_ && !copies_regions_;
  set_traits(std::move(traits));
  return absl::OkStatus();
}

absl::Status ExecuteJob::FindPlaces(std::vector<uint64_t> payload_bytes,
                                    std::vector<Violation>& violations) {
  const bool has_places = request_.input_places_size() > 0 || request_.has_output_place();
  const std::string client = has_places ? reply_.client() : "";
  absl::Status status =
      inputs_.Resolve(parts_.places, client, request_.input_places(), std::move(payload_bytes),
                      *request_.mutable_inputs(), violations);
  if (!status.ok()) return status;
  return output_place_.Resolve(parts_.places, client, request_.output_place(), "output_place",
                               violations);
}

absl::Status ExecuteJob::CheckOutputPlace() {
  if (!output_place_.is_set()) return absl::OkStatus();
  std::vector<Violation> violations;
  output_place_.Check(invocation_->output, invocation_->output_bytes, violations);
  const bool touches_input = CheckInPlace(*invocation_, inputs_, output_place_, violations);
  if (!violations.empty()) return MakeViolationError(violations, "");
  is_direct_ = output_place_.memory() != nullptr && !touches_input;
  return absl::OkStatus();
}

void ExecuteJob::Submit(std::unique_ptr<PayloadSource> payloads) {
  payloads_ = std::move(payloads);
  if (parts_.pool.RunInline(*this)) return;
  // Only a queue asks for it, and telling it takes a while.
  JobTraits queued = traits();
  queued.client = reply_.client();
  set_traits(std::move(queued));
  // From here on another thread may answer at any time.
  if (!parts_.pool.Submit(*this)) Refuse(DrainingError());
}

absl::StatusOr<DeviceCall> ExecuteJob::Prepare(DeviceKind kind) {
  if (!call_) {
    try {
      MakeCall(kind);
    } catch (const std::bad_alloc&) {
      return OutOfMemoryError();
    }
  }
  return *call_;
}

void ExecuteJob::MakeCall(DeviceKind kind) {
  const auto inputs =
      inputs_.Take(payloads_->Payloads(parts_.buffers), copies_regions_, parts_.buffers);
  DeviceCall call = {.invocation = invocation_.get(), .inputs = InputsOf(inputs, *invocation_)};
  if (is_direct_) {
    call.output = output_place_.memory();
  } else if (const std::optional<int> input = InPlaceInput(kind); input) {
    call.in_place = *input;
  } else {
    output_ = parts_.buffers.Take(invocation_->output_bytes);
    call.output = output_.data();
    call.content = output_place_.NewContent();
  }
  call_ = call;
}

std::optional<int> ExecuteJob::InPlaceInput(DeviceKind kind) const {
  // Another device could not run the call again, and nothing could be compared.
  if (kind != DeviceKind::kCpu) return std::nullopt;
  if (output_place_.is_set() || !inputs_.shares().empty()) return std::nullopt;
  if (invocation_->output_bytes < kMinInPlaceBytes) return std::nullopt;
  for (int i = 0; i < TraitsOf(invocation_->op).input_count(); ++i) {
    if (CanRunInPlace(*invocation_, i)) return i;
  }
  return std::nullopt;
}

void ExecuteJob::Answer(const RunRecord& record) {
  v1::ExecuteResponse header;
  WriteResponseHeader(request_, *invocation_, record, header);
  OutgoingPayload payload;
  if (call_->output == nullptr) {
    payload =
        payloads_->Send(invocation_->payload_index[call_->in_place], invocation_->output_bytes);
  } else if (!output_place_.is_set()) {
    payload = PayloadOf(std::move(output_), invocation_->output_bytes);
  } else if (!is_direct_) {
    output_place_.Put(std::move(output_), invocation_->output_bytes, record);
  }
  // The next request finds these buffers warm.
  payloads_.reset();
  inputs_.Release();
  output_place_.Release();
  LogAnswer(record);
  reply_.Send(header, std::move(payload));
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
