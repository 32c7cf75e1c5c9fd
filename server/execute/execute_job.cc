#include "server/execute/execute_job.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/data_type.h"
#include "kernels/flat_part.h"
#include "kernels/utf8.h"
#include "server/errors/errors.h"
#include "server/wire/wire.h"

namespace opserve {

namespace {

// Smaller results are copied into their message, which costs less than sending them from elsewhere.
constexpr uint64_t kMinInPlaceBytes = 16 << 10;

// Smaller results come from calls that a ring makes no faster.
constexpr uint64_t kLeastRingBytes = 64 << 10;

}  // namespace

absl::Status ExecuteWork::FindPayloads(const PlaceCaller& caller, const JobOrigin& origin,
                                       std::vector<uint64_t>& lengths,
                                       std::vector<Violation>& violations) {
  if (!request_.has_ring()) return absl::OkStatus();
  if (!origin.takes_ring) {
    return MakeViolationError({"ring", "Payloads come through a ring with Execute alone."});
  }
  if (!lengths.empty() || !request_.input_places().empty()) {
    return MakeViolationError(
        {"ring", "All inputs come through the ring: there are no payloads and no input_places."});
  }
  const v1::PayloadRing& ring = request_.ring();
  if (ring.payload_bytes_size() > kMaxInputs) {
    return MakeViolationError(
        {"ring.payload_bytes", absl::StrCat("The number of payloads (", ring.payload_bytes_size(),
                                            ") exceeds the limit (", kMaxInputs, ").")});
  }
  lengths.assign(ring.payload_bytes().begin(), ring.payload_bytes().end());
  return ring_.Resolve(parts_.places.regions, caller.region, ring, violations);
}

absl::Status ExecuteWork::FindOutputs(const PlaceCaller& caller,
                                      std::vector<Violation>& violations) {
  return output_place_.Resolve(parts_.places, caller, request_.output_place(), "output_place",
                               violations);
}

absl::StatusOr<Workload> ExecuteWork::Validate(const InputPlaces& inputs, const JobOrigin& origin,
                                               std::vector<Violation> violations) {
  RequestHeader header = HeaderOf(request_, inputs.bytes());
  header.call.payload_fields = ring_.is_set() ? ring_.fields() : inputs.fields();
  header.answers_in_one_message = origin.answers_in_one_message && !output_place_.is_set();
  if (origin.offer) {
    absl::Status status = FindRuns(inputs, header, *origin.offer, violations);
    if (!status.ok()) return status;
    if (const RunPlan* const plan = runs_.plan()) {
      return Workload{.lane = LaneKeyOf(*invocation_),
                      .bytes = plan->run_bytes(),
                      .held_bytes = plan->held_bytes(),
                      .arrival = InputArrival::kInRuns};
    }
  }
  auto invocation = parts_.validator.Validate(header, std::move(violations));
  if (!invocation.ok()) return invocation.status();
  invocation_ = *std::move(invocation);
  if (absl::Status status = CheckOutputPlace(inputs, origin); !status.ok()) return status;
  Workload load = {.lane = LaneKeyOf(*invocation_), .bytes = invocation_->output_bytes};
  for (const uint64_t bytes : inputs.bytes()) load.bytes += bytes;
  load.held_bytes = load.bytes;
  if (ring_.is_set()) {
    if (absl::Status status = CheckRing(); !status.ok()) return status;
    load.arrival = InputArrival::kThroughRing;
    load.waits_for_inputs = !ring_.HasAll();
  }
  return load;
}

absl::Status ExecuteWork::FindRuns(const InputPlaces& inputs, const RequestHeader& header,
                                   const RunOffer& offer,
                                   const std::vector<Violation>& violations) {
  const absl::string_view why_whole = WhyWholeWith(parts_, header, inputs, output_place_.is_set());
  if (!why_whole.empty()) {
    runs_.Begin({.why_whole = std::string(why_whole)});
    return absl::OkStatus();
  }
  RequestHeader unbounded = header;
  unbounded.holds_tensors = false;
  auto invocation = parts_.validator.Validate(unbounded, violations);
  if (!invocation.ok()) return invocation.status();
  runs_.Begin(PlanRuns(**invocation, inputs.bytes(), offer, parts_.options.stream_window_bytes));
  if (runs_.plan() != nullptr) invocation_ = *std::move(invocation);
  return absl::OkStatus();
}

absl::Status ExecuteWork::CheckOutputPlace(const InputPlaces& inputs, const JobOrigin& origin) {
  if (!output_place_.is_set()) return absl::OkStatus();
  if (origin.takes_larger_place) output_place_.TrimTo(invocation_->output_bytes);
  std::vector<Violation> violations;
  output_place_.Check(invocation_->output, invocation_->output_bytes, violations);
  const bool touches_input = CheckInPlace(*invocation_, inputs, output_place_, violations);
  if (!violations.empty()) return MakeViolationError(violations, "");
  is_direct_ = output_place_.memory() != nullptr && !touches_input;
  return absl::OkStatus();
}

bool ExecuteWork::MayRunOnGpu() const {
  const RequestEnvelope envelope = EnvelopeOf(request_);
  return !envelope.device_lease.empty() ||
         CopiesRegions(envelope.PlacementOr(parts_.options.placement), parts_.pool.has_gpus());
}

bool ExecuteWork::TakesRing() const {
  return invocation_->output_bytes >= kLeastRingBytes && invocation_->plan.is_packed() &&
         !MayRunOnGpu();
}

absl::Status ExecuteWork::CheckRing() {
  if (MayRunOnGpu()) {
    return MakeViolationError(
        {"ring",
         "A GPU may run the request, and takes no payloads that come through a ring; ask "
         "for the CPU."});
  }
  const std::vector<Violation> violations = ring_.Check(*invocation_);
  return violations.empty() ? absl::OkStatus() : MakeViolationError(violations, "");
}

bool ExecuteWork::IsAhead(int input) const {
  const int payload = invocation_->payload_index[input];
  return runs_.plan() != nullptr && payload >= 0 && runs_.IsAhead(static_cast<size_t>(payload));
}

std::array<TensorBytes, kMaxInputs> ExecuteWork::InputsOfRun(
    const std::vector<TensorBytes>& payloads) const {
  std::array<TensorBytes, kMaxInputs> inputs = InputsOf(payloads, *invocation_);
  for (int i = 0; i + 1 < invocation_->plan.tensor_count; ++i) {
    if (!IsAhead(i)) continue;
    const uint64_t place = PlaceOf(*invocation_, i, runs_.first_element());
    inputs[i] = runs_.Ahead(static_cast<size_t>(invocation_->payload_index[i])) +
                place * SizeOf(invocation_->inputs[i].data_type);
  }
  return inputs;
}

DeviceCall ExecuteWork::MakeCall(const std::vector<TensorBytes>& inputs,
                                 const CallSetting& setting) {
  if (runs_.plan() != nullptr) {
    const uint64_t elements = runs_.elements();
    if (!part_ || part_->plan.element_count != elements) part_ = PartOf(*invocation_, elements);
  }
  DeviceCall call = {.invocation = &this->call()};
  if (ring_.is_set()) {
    call.inputs = InputsOfRun(ring_.Begin(*setting.stop));
    call.arriving = &ring_;
  } else {
    call.inputs = InputsOfRun(inputs);
  }
  is_direct_ = is_direct_ && !setting.copies_regions;
  in_place_ = InPlaceInput(setting);
  if (is_direct_) {
    call.output = output_place_.memory();
  } else if (in_place_) {
    call.in_place = *in_place_;
  } else {
    output_ = parts_.buffers.Take(call.invocation->output_bytes);
    call.output = output_.data();
    call.content = output_place_.NewContent();
    output_place_.LetStay(invocation_, *setting.inputs, parts_.pool, parts_.buffers, call.content);
  }
  return call;
}

std::optional<int> ExecuteWork::InPlaceInput(const CallSetting& setting) const {
  // Another device could not run the call again, and nothing could be compared.
  if (setting.kind != DeviceKind::kCpu) return std::nullopt;
  if (output_place_.is_set() || !setting.owns_inputs || ring_.is_set()) return std::nullopt;
  if (call().output_bytes < kMinInPlaceBytes) return std::nullopt;
  for (int i = 0; i < TraitsOf(invocation_->op).input_count(); ++i) {
    // What was sent ahead is still needed, though a run may find it as packed as all else.
    if (CanRunInPlace(call(), i) && !IsAhead(i)) return i;
  }
  return std::nullopt;
}

absl::StatusOr<JobResults> ExecuteWork::Finish(const RunRecord& record, ReceivedMessage& payloads,
                                               Response& header) {
  runs_.OnComputed();
  if (runs_.has_ended()) {
    WriteResponseHeader(request_, *invocation_, record, header);
    header.set_takes_ring(TakesRing());
  }
  JobResults results(1);
  const uint64_t bytes = call().output_bytes;
  if (in_place_) {
    results[0] = payloads.Send(invocation_->payload_index[*in_place_], bytes);
  } else if (!output_place_.is_set()) {
    results[0] = OutgoingPayload::From(std::move(output_), bytes);
  } else if (!is_direct_) {
    absl::Status status = output_place_.Put(std::move(output_), bytes, record);
    if (!status.ok()) return status;
  }
  output_place_.Release();
  ring_.End();
  return results;
}

LogField ExecuteWork::LoggedSubject() const {
  return {"operator", TruncateUtf8(request_.operator_(), 64)};
}

void ExecuteWork::LogAnswer(const RunRecord& record) const {
  if (!runs_.has_ended()) return;
  parts_.logger.Log(LogLevel::kDebug, "request answered",
                    {{"id", request_.request_id()},
                     {"operator", request_.operator_()},
                     {"output_bytes", invocation_->output_bytes},
                     {"queued_ns", record.queued.count()},
                     {"run_ns", record.ran.count()},
                     {"batch_size", record.batch_size},
                     {"device", record.device}});
}

void ExecuteWork::Describe(RequestRecord& record) const {
  if (invocation_ != nullptr) {
    record.work = WorkKind::kOperator;
    record.op = invocation_->op;
    record.type = invocation_->lane_type;
  } else if (const OpTraits* const traits = FindOperator(request_.operator_())) {
    record.work = WorkKind::kOperator;
    record.op = traits->id;
  }
}

}  // namespace opserve
