#include "server/execute/request_job.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "kernels/utf8.h"
#include "server/errors/errors.h"
#include "server/execute/execute_job.h"
#include "server/execute/sequence_job.h"
#include "server/wire/sequence_wire.h"
#include "server/wire/wire.h"

namespace opserve {

absl::string_view WhyWholeWith(const ExecuteParts& parts, const RequestEnvelope& envelope,
                               const InputPlaces& inputs, bool has_output_place) {
  if (!inputs.shares().empty()) return "an input is not in its messages";
  if (has_output_place) return "its result has a place of its own";
  if (!envelope.device_lease.empty() ||
      envelope.PlacementOr(parts.options.placement) == Placement::kGpu) {
    return "it is to run on a GPU";
  }
  return {};
}

template <class Work>
void RequestJob<Work>::Start(grpc::ByteBuffer& bytes, const JobOrigin& origin) {
  ReceivedMessage message;
  absl::Status status = message.Read(bytes, request_);
  if (status.ok()) {
    JobOrigin with_header = origin;
    with_header.header_bytes = message.header_bytes();
    status = Accept(message.payload_bytes(), with_header);
  }
  if (status.ok()) {
    Submit(std::move(message));
  } else {
    Refuse(status);
  }
}

template <class Work>
absl::Status RequestJob<Work>::Accept(std::vector<uint64_t> payload_bytes,
                                      const JobOrigin& origin) {
  const Caller& caller = reply_.caller();
  const AccessGrant& grant = caller.grant();
  std::vector<Violation> violations;
  absl::Status status = FindPlaces(std::move(payload_bytes), origin, violations);
  if (!status.ok()) return status;
  const auto load = work_.Validate(inputs_, origin, std::move(violations));
  if (!load.ok()) return load.status();
  const RequestEnvelope envelope = EnvelopeOf(request_);
  JobTraits traits;
  traits.placement = envelope.PlacementOr(parts_.options.placement);
  if (!envelope.device_lease.empty()) {
    status = FindLease(envelope.device_lease, traits);
    if (!status.ok()) return status;
  }
  auto permit = parts_.admission.Admit(
      caller.identity(), load->held_bytes + HeldByHeader(request_, origin.header_bytes),
      grant.share);
  if (!permit.ok()) return permit.status();
  permit_ = *std::move(permit);
  held_bytes_ = load->held_bytes;

  // A GPU may have joined since it was asked whether there is one.
  if (load->arrival != InputArrival::kWhole) traits.placement = Placement::kCpu;
  traits.waits_for_inputs = load->waits_for_inputs;
  traits.results_may_wait = work_.results_may_wait();
  traits.lane = load->lane;
  traits.sequence = load->sequence;
  traits.bytes = load->bytes;
  // A request that asks for more than it may have goes at what it may.
  traits.priority = std::max(envelope.PriorityClass(), static_cast<Priority>(grant.most_urgent));
  traits.weight = grant.weight;
  traits.home = inputs_.home().empty() ? work_.home() : inputs_.home();
  traits.verify = envelope.verify;
  traits.accepted = parts_.clock.Now();
  traits.deadline = origin.deadline;
  set_traits(std::move(traits));
  // One run may be queued in another thread while this one looks for the job to cancel it.
  if (load->arrival == InputArrival::kInRuns) NameClient();
  return absl::OkStatus();
}

template <class Work>
absl::Status RequestJob<Work>::FindLease(absl::string_view id, JobTraits& traits) const {
  if (parts_.leases == nullptr) return LeasesOffError();
  const absl::StatusOr<uint64_t> lease = parts_.leases->Find(id, reply_.caller().identity());
  if (!lease.ok()) return lease.status();
  traits.lease = *lease;
  traits.placement = Placement::kGpu;
  return absl::OkStatus();
}

template <class Work>
absl::Status RequestJob<Work>::FindPlaces(std::vector<uint64_t>&& payload_bytes,
                                          const JobOrigin& origin,
                                          std::vector<Violation>& violations) {
  const Caller& caller = reply_.caller();
  const PlaceCaller of_places = {caller.client(), {caller.identity(), caller.user()}};
  absl::Status status = work_.FindPayloads(of_places, origin, payload_bytes, violations);
  if (!status.ok()) return status;
  status = inputs_.Resolve(parts_.places, of_places, request_.input_places(),
                           std::move(payload_bytes), *request_.mutable_inputs(), violations);
  if (status.ok()) status = work_.FindOutputs(of_places, violations);
  return status;
}

template <class Work>
void RequestJob<Work>::Submit(ReceivedMessage payloads) {
  payloads_ = std::move(payloads);
  call_.reset();
  progress() = {};
  // Only a queue asks for the client. From here on another thread may answer at any time.
  const auto name_client = [this] {
    if (!is_client_named_) NameClient();
  };
  if (!parts_.pool.Submit(*this, name_client)) Refuse(DrainingError());
}

template <class Work>
void RequestJob<Work>::NameClient() {
  const Caller& caller = reply_.caller();
  set_client(std::string(caller.identity()), std::string(caller.name()));
  is_client_named_ = true;
}

template <class Work>
absl::StatusOr<DeviceCall> RequestJob<Work>::Prepare(DeviceKind kind) {
  try {
    if (call_) return WithInputsFor(kind);
    const CallSetting setting = {
        .kind = kind,
        .copies_regions = CopiesRegions(traits().placement, parts_.pool.has_gpus()),
        .owns_inputs = inputs_.shares().empty(),
        .inputs = &inputs_,
        .stop = &is_stopped_};
    call_ = work_.MakeCall(
        inputs_.Take(payloads_.Payloads(parts_.buffers), setting.copies_regions, parts_.buffers),
        setting);
    return WithInputsFor(kind);
  } catch (const std::exception&) {
    return ErrorOfException();
  }
}

template <class Work>
const DeviceCall& RequestJob<Work>::WithInputsFor(DeviceKind kind) {
  // A GPU says that it has none of what another one has lost; the processor would, in a batch with
  // others.
  if (kind == DeviceKind::kCpu) inputs_.FetchVolatile();
  return *call_;
}

template <class Work>
void RequestJob<Work>::Answer(const RunRecord& record) {
  try {
    // Before the answer, so that the client's next request finds it charged.
    Charge(record.cost);
    Response header;
    const RunRecord& total = AddRun(record);
    Describe(&total);
    // A result that takes the place of an input finds that nobody reads it any more.
    inputs_.Release();
    absl::StatusOr<JobResults> results = work_.Finish(total, payloads_, header);
    // The next request finds these buffers warm.
    payloads_ = {};
    if (!results.ok()) return Refuse(results.status());
    if (parts_.logger.enabled(LogLevel::kDebug)) work_.LogAnswer(total);
    reply_.Send(header, *results);
  } catch (...) {
    // The queue has given the job away: nobody else would answer it.
    Refuse(ErrorOfException());
  }
}

template <class Work>
void RequestJob<Work>::Charge(Clock::Duration cost) {
  const Caller& caller = reply_.caller();
  parts_.admission.ChargeDeviceTime(caller.identity(), cost, caller.grant().share);
}

template <class Work>
void RequestJob<Work>::Refuse(const absl::Status& why) {
  try {
    Describe(nullptr);
    LogRefusal(why);
  } catch (const std::exception&) {
    // There is no memory for the line, which is no reason not to answer.
  }
  reply_.Fail(why);
}

template <class Work>
void RequestJob<Work>::Describe(const RunRecord* run) {
  RequestRecord* const record = reply_.record();
  if (record == nullptr) return;
  record->request_id = request_.request_id();
  work_.Describe(*record);
  if (run == nullptr) return;
  record->device = run->device;
  record->accepted = traits().accepted;
  record->queued = run->queued;
  record->ran = run->ran;
}

template <class Work>
const RunRecord& RequestJob<Work>::AddRun(const RunRecord& run) {
  if (!ran_) return ran_.emplace(run);
  ran_->ran += run.ran;
  ran_->cost += run.cost;
  return *ran_;
}

template <class Work>
void RequestJob<Work>::LogRefusal(const absl::Status& status) const {
  Logger& logger = parts_.logger;
  if (!logger.enabled(LogLevel::kInfo)) return;
  const std::optional<uint64_t> held_back = parts_.refusals.Pass();
  if (!held_back) return;
  logger.Log(LogLevel::kInfo, Work::kRefusedEvent,
             {{"id", TruncateUtf8(request_.request_id(), kMaxRequestIdBytes)},
              work_.LoggedSubject(),
              {"code", absl::StatusCodeToString(status.code())},
              {"message", status.message()},
              {"not_logged", *held_back}});
}

template class RequestJob<ExecuteWork>;
template class RequestJob<SequenceWork>;

}  // namespace opserve
