// File: server/execute/sequence_job.h
//
// The job of one ExecuteSequence: what is its own beside server/execute/request_job.h.

#ifndef OPSERVE_SERVER_EXECUTE_SEQUENCE_JOB_H_
#define OPSERVE_SERVER_EXECUTE_SEQUENCE_JOB_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/sequence.h"
#include "kernels/sequence_part.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/execute/request_job.h"
#include "server/execute/run_plan.h"
#include "server/execute/run_progress.h"

namespace opserve {

// Several operators, each of whose results goes into the message or to a place. The functions are
// those of ExecuteWork.
class SequenceWork {
 public:
  using Request = v1::ExecuteSequenceRequest;
  using Response = v1::ExecuteSequenceResponse;
  static constexpr absl::string_view kRefusedEvent = "sequence refused";

  SequenceWork(const ExecuteParts& parts, const Request& request)
      : parts_(parts), request_(request) {}

  // They always are.
  static absl::Status FindPayloads(const PlaceCaller&, const JobOrigin&, std::vector<uint64_t>&,
                                   std::vector<Violation>&) {
    return absl::OkStatus();
  }
  absl::Status FindOutputs(const PlaceCaller& caller, std::vector<Violation>& violations);
  absl::StatusOr<Workload> Validate(const InputPlaces& inputs, const JobOrigin& origin,
                                    std::vector<Violation> violations);
  const RunProgress& runs() const { return runs_; }
  RunProgress& runs() { return runs_; }
  std::vector<uint64_t> ResultLengths() const;
  absl::string_view home() const;
  bool results_may_wait() const;
  DeviceCall MakeCall(std::vector<TensorBytes> inputs, const CallSetting& setting);
  absl::StatusOr<JobResults> Finish(const RunRecord& record, ReceivedMessage& payloads,
                                    Response& header);
  LogField LoggedSubject() const { return {"steps", request_.steps_size()}; }
  void LogAnswer(const RunRecord& record) const;
  void Describe(RequestRecord& record) const { record.work = WorkKind::kSequence; }

 private:
  absl::Status CheckOutputPlaces() const;
  // Divides the request into runs, or finds out why that cannot be: there are none then.
  absl::Status FindRuns(const InputPlaces& inputs, const SequenceHeader& header,
                        const RunOffer& offer, const std::vector<Violation>& violations);
  // Adds the inputs that a run has beside its payloads: those that were sent ahead, for each step
  // that reads them from where it begins on.
  void AddRepeatedInputs(std::vector<TensorBytes>& inputs) const;
  // Brings a result to its place. What is thrown on the way is its error.
  absl::Status PutOutput(size_t output, uint64_t bytes, const RunRecord& record);
  // What is computed now.
  const SequenceInvocation& sequence() const {
    return runs_.plan() != nullptr ? part_ : *sequence_;
  }

  const ExecuteParts& parts_;
  const Request& request_;
  // One for each output that the request lists.
  std::vector<OutputPlace> output_places_;
  std::shared_ptr<const SequenceInvocation> sequence_;
  RunProgress runs_;
  std::vector<RepeatedInput> repeated_;
  // The sequence on the elements of the present run.
  SequenceInvocation part_;
  std::vector<HostBuffer> outputs_;
  SequenceCall call_;
};

using SequenceJob = RequestJob<SequenceWork>;
extern template class RequestJob<SequenceWork>;

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_SEQUENCE_JOB_H_
