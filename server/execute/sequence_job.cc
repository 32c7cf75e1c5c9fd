#include "server/execute/sequence_job.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "kernels/data_type.h"
#include "kernels/flat_part.h"
#include "server/errors/errors.h"
#include "server/wire/sequence_wire.h"

namespace opserve {
namespace {

// What the sequence fails with where the result `output` does not come to its place, because of
// `why`, and others before it are in theirs. Run again, it might compute with its own results, so
// nobody is told to try.
absl::Status HalfDone(const absl::Status& why, size_t output) {
  absl::Status told(why.code(), absl::StrCat(why.message(), " The results before outputs[", output,
                                             "] are in their places."));
  why.ForEachPayload([&told](absl::string_view url, const absl::Cord& detail) {
    if (url != kRetryInfoUrl) told.SetPayload(url, detail);
  });
  return told;
}

}  // namespace

absl::Status SequenceWork::FindOutputs(const PlaceCaller& caller,
                                       std::vector<Violation>& violations) {
  // Outputs beyond the limit are refused for their number.
  const int count =
      std::min(request_.outputs_size(), static_cast<int>(parts_.options.max_sequence_steps));
  absl::Status status;
  for (int i = 0; i < count && status.ok(); ++i) {
    status =
        output_places_.emplace_back().Resolve(parts_.places, caller, request_.outputs(i).place(),
                                              absl::StrCat("outputs[", i, "].place"), violations);
  }
  return status;
}

absl::StatusOr<Workload> SequenceWork::Validate(const InputPlaces& inputs, const JobOrigin& origin,
                                                std::vector<Violation> violations) {
  SequenceHeader header = HeaderOf(request_, inputs.bytes());
  header.call.payload_fields = inputs.fields();
  header.answers_in_one_message = origin.answers_in_one_message;
  if (origin.offer) {
    absl::Status status = FindRuns(inputs, header, *origin.offer, violations);
    if (!status.ok()) return status;
    if (const RunPlan* const plan = runs_.plan()) {
      return Workload{.lane = NewSequenceLane(),
                      .sequence = &part_,
                      .bytes = part_.total_bytes,
                      .held_bytes = plan->held_bytes(),
                      .arrival = InputArrival::kInRuns};
    }
  }
  auto sequence = parts_.sequence_validator.Validate(request_, header, std::move(violations));
  if (!sequence.ok()) return sequence.status();
  sequence_ = *std::move(sequence);
  if (absl::Status status = CheckOutputPlaces(); !status.ok()) return status;
  return Workload{.lane = NewSequenceLane(),
                  .sequence = sequence_.get(),
                  .bytes = sequence_->total_bytes,
                  .held_bytes = sequence_->held_bytes};
}

absl::Status SequenceWork::FindRuns(const InputPlaces& inputs, const SequenceHeader& header,
                                    const RunOffer& offer,
                                    const std::vector<Violation>& violations) {
  const absl::string_view why_whole =
      WhyWholeWith(parts_, header, inputs,
                   std::any_of(output_places_.begin(), output_places_.end(),
                               [](const OutputPlace& place) { return place.is_set(); }));
  if (!why_whole.empty()) {
    runs_.Begin({.why_whole = std::string(why_whole)});
    return absl::OkStatus();
  }
  SequenceHeader unbounded = header;
  unbounded.holds_tensors = false;
  auto sequence = parts_.sequence_validator.Validate(request_, unbounded, violations);
  if (!sequence.ok()) return sequence.status();
  runs_.Begin(PlanRuns(**sequence, inputs.bytes(), offer, parts_.options.stream_window_bytes));
  if (runs_.plan() == nullptr) return absl::OkStatus();
  sequence_ = *std::move(sequence);
  repeated_ = RepeatedInputsOf(*sequence_);
  part_ = PartOf(*sequence_, runs_.elements());
  return absl::OkStatus();
}

absl::Status SequenceWork::CheckOutputPlaces() const {
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

std::vector<uint64_t> SequenceWork::ResultLengths() const {
  std::vector<uint64_t> lengths;
  for (size_t i = 0; i < sequence_->outputs.size(); ++i) {
    lengths.push_back(sequence_->output_bytes(i));
  }
  return lengths;
}

absl::string_view SequenceWork::home() const {
  const auto placed = std::find_if(output_places_.begin(), output_places_.end(),
                                   [](const OutputPlace& place) { return !place.home().empty(); });
  return placed == output_places_.end() ? absl::string_view() : placed->home();
}

bool SequenceWork::results_may_wait() const {
  return std::any_of(output_places_.begin(), output_places_.end(),
                     [](const OutputPlace& place) { return place.may_wait(); });
}

// Results are computed beside their places, so inputs may be in the same memory.
DeviceCall SequenceWork::MakeCall(std::vector<TensorBytes> inputs, const CallSetting& setting) {
  if (runs_.plan() != nullptr) {
    const uint64_t elements = runs_.elements();
    if (part_.call(0).plan.element_count != elements) part_ = PartOf(*sequence_, elements);
    AddRepeatedInputs(inputs);
  }
  call_ = {.inputs = std::move(inputs)};
  outputs_.clear();
  for (size_t i = 0; i < sequence().outputs.size(); ++i) {
    outputs_.push_back(parts_.buffers.Take(sequence().output_bytes(i)));
    call_.outputs.push_back(outputs_.back().data());
    ResultContent& content = call_.contents.emplace_back();
    if (i >= output_places_.size()) continue;
    content = output_places_[i].NewContent();
    output_places_[i].LetStayVolatile(sequence().output_bytes(i), parts_.pool, parts_.buffers,
                                      content);
  }
  call_.sequence = &sequence();
  call_.stop = setting.stop;
  DeviceCall call;
  call.sequence = &call_;
  return call;
}

void SequenceWork::AddRepeatedInputs(std::vector<TensorBytes>& inputs) const {
  for (const RepeatedInput& repeated : repeated_) {
    const Invocation& call = sequence_->call(repeated.step);
    const uint64_t place = PlaceOf(call, repeated.input, runs_.first_element());
    inputs.push_back(runs_.Ahead(repeated.source) +
                     place * SizeOf(call.inputs[repeated.input].data_type));
  }
}

absl::StatusOr<JobResults> SequenceWork::Finish(const RunRecord& record, ReceivedMessage&,
                                                Response& header) {
  runs_.OnComputed();
  if (runs_.has_ended()) WriteResponseHeader(request_, *sequence_, record, header);
  JobResults results;
  bool has_put = false;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const uint64_t bytes = sequence().output_bytes(i);
    if (i < output_places_.size() && output_places_[i].is_set()) {
      absl::Status status = PutOutput(i, bytes, record);
      if (!status.ok()) return has_put ? HalfDone(status, i) : status;
      has_put = true;
    } else {
      results.push_back(OutgoingPayload::From(std::move(outputs_[i]), bytes));
    }
  }
  output_places_.clear();
  return results;
}

absl::Status SequenceWork::PutOutput(size_t output, uint64_t bytes, const RunRecord& record) {
  try {
    return output_places_[output].Put(std::move(outputs_[output]), bytes, record);
  } catch (const std::exception&) {
    return ErrorOfException();
  }
}

void SequenceWork::LogAnswer(const RunRecord& record) const {
  if (!runs_.has_ended()) return;
  parts_.logger.Log(LogLevel::kDebug, "sequence answered",
                    {{"id", request_.request_id()},
                     {"steps", request_.steps_size()},
                     {"outputs", sequence_->outputs.size()},
                     {"bytes", sequence_->total_bytes},
                     {"queued_ns", record.queued.count()},
                     {"run_ns", record.ran.count()},
                     {"device", record.device}});
}

}  // namespace opserve
