#include "server/execute/sequence_job.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/utf8.h"
#include "server/errors/errors.h"
#include "server/wire/sequence_wire.h"

namespace opserve {

absl::Status SequenceJob::Accept(std::vector<uint64_t> payload_bytes, std::string client,
                                 Clock::TimePoint deadline) {
  std::vector<Violation> violations;
  absl::Status status = FindPlaces(std::move(payload_bytes), client, violations);
  if (!status.ok()) return status;
  auto sequence =
      validator_.Validate(request_, inputs_.bytes(), inputs_.fields(), std::move(violations));
  if (!sequence.ok()) return sequence.status();
  sequence_ = *std::move(sequence);
  if (status = CheckOutputPlaces(); !status.ok()) return status;
  auto permit = parts_.admission.Admit(sequence_->held_bytes);
  if (!permit.ok()) return permit.status();
  permit_ = *std::move(permit);

  const RequestEnvelope envelope = EnvelopeOf(request_);
  JobTraits traits;
  traits.lane = NewSequenceLane();
  traits.sequence = sequence_.get();
  traits.bytes = sequence_->total_bytes;
  traits.client = std::move(client);
  traits.priority = PriorityOf(envelope);
  traits.placement = PlacementOf(envelope, parts_.options.placement);
  traits.home = Home();
  traits.verify = envelope.verify;
  traits.accepted = parts_.clock.Now();
  traits.deadline = deadline;
  set_traits(std::move(traits));
  return absl::OkStatus();
}

absl::Status SequenceJob::FindPlaces(std::vector<uint64_t> payload_bytes, const std::string& client,
                                     std::vector<Violation>& violations) {
  absl::Status status =
      inputs_.Resolve(parts_.places, client, request_.input_places(), std::move(payload_bytes),
                      *request_.mutable_inputs(), violations);
  // Further ones are refused for their number.
  const int count =
      std::min(request_.outputs_size(), static_cast<int>(parts_.options.max_sequence_steps));
  for (int i = 0; i < count && status.ok(); ++i) {
    status =
        output_places_.emplace_back().Resolve(parts_.places, client, request_.outputs(i).place(),
                                              absl::StrCat("outputs[", i, "].place"), violations);
  }
  return status;
}

absl::Status SequenceJob::CheckOutputPlaces() const {
  std::vector<Violation> violations;
  for (size_t i = 0; i < output_places_.size(); ++i) {
    const OutputPlace& place = output_places_[i];
    if (!place.is_set()) continue;
    const Invocation& call = sequence_->call(sequence_->outputs[i]);
    place.Check(call.output, call.output_bytes, violations);
    for (size_t other = 0; other < i; ++other) {
      if (!place.share().Overlaps(output_places_[other].share())) continue;
      violations.push_back({place.field(), absl::StrCat("The place of the result overlaps that of "
                                                        "outputs[",
                                                        other, "].")});
    }
  }
  return violations.empty() ? absl::OkStatus() : MakeViolationError(violations, "");
}

absl::string_view SequenceJob::Home() const {
  absl::string_view home = inputs_.home();
  for (const OutputPlace& output : output_places_) {
    if (home.empty()) home = output.home();
  }
  return home;
}

void SequenceJob::Submit(std::unique_ptr<PayloadSource> payloads) {
  payloads_ = std::move(payloads);
  // From here on another thread may answer at any time.
  if (!parts_.pool.Submit(*this)) Refuse(DrainingError());
}

absl::StatusOr<DeviceCall> SequenceJob::Prepare(DeviceKind) {
  if (call_.sequence == nullptr) {
    try {
      MakeCall();
    } catch (const std::bad_alloc&) {
      return OutOfMemoryError();
    }
  }
  DeviceCall call;
  call.sequence = &call_;
  return call;
}

void SequenceJob::MakeCall() {
  // Results are computed beside their places, so inputs may be in the same memory.
  const bool copies_regions = CopiesRegions(traits().placement, parts_.pool.has_gpus());
  call_.inputs = inputs_.Take(payloads_->Payloads(parts_.buffers), copies_regions, parts_.buffers);
  for (size_t i = 0; i < sequence_->outputs.size(); ++i) {
    outputs_.push_back(
        std::make_shared<HostBuffer>(parts_.buffers.Take(sequence_->output_bytes(i))));
    call_.outputs.push_back(outputs_.back()->data());
    call_.contents.push_back(i < output_places_.size() ? output_places_[i].NewContent()
                                                       : ResultContent());
  }
  call_.sequence = sequence_.get();
}

void SequenceJob::Answer(const RunRecord& record) {
  v1::ExecuteSequenceResponse header;
  WriteResponseHeader(request_, *sequence_, record, header);
  std::vector<OutgoingPayload> results;
  results.reserve(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (i < output_places_.size() && output_places_[i].is_set()) {
      output_places_[i].Put(std::move(*outputs_[i]), sequence_->output_bytes(i), record);
      continue;
    }
    const std::byte* const data = outputs_[i]->data();
    results.push_back({data, sequence_->output_bytes(i), std::move(outputs_[i])});
  }
  // The next request finds these buffers warm.
  payloads_.reset();
  inputs_.Release();
  output_places_.clear();
  LogAnswer(record);
  reply_.Send(header, results);
}

void SequenceJob::Refuse(const absl::Status& why) {
  LogRefusal(why);
  reply_.Fail(why);
}

void SequenceJob::LogAnswer(const RunRecord& record) const {
  Logger& logger = parts_.logger;
  if (!logger.enabled(LogLevel::kDebug)) return;
  logger.Log(LogLevel::kDebug, "sequence answered",
             {{"id", request_.request_id()},
              {"steps", request_.steps_size()},
              {"outputs", sequence_->outputs.size()},
              {"bytes", sequence_->total_bytes},
              {"queued_ns", record.queued.count()},
              {"run_ns", record.ran.count()},
              {"device", record.device}});
}

void SequenceJob::LogRefusal(const absl::Status& status) const {
  Logger& logger = parts_.logger;
  if (!logger.enabled(LogLevel::kInfo)) return;
  const std::optional<uint64_t> held_back = parts_.refusals.Pass();
  if (!held_back) return;
  logger.Log(LogLevel::kInfo, "sequence refused",
             {{"id", TruncateUtf8(request_.request_id(), kMaxRequestIdBytes)},
              {"steps", request_.steps_size()},
              {"code", absl::StatusCodeToString(status.code())},
              {"message", status.message()},
              {"not_logged", *held_back}});
}

}  // namespace opserve
