// File: server/execute/execute_job.h
//
// The job of one Execute: what is its own beside server/execute/request_job.h.

#ifndef OPSERVE_SERVER_EXECUTE_EXECUTE_JOB_H_
#define OPSERVE_SERVER_EXECUTE_EXECUTE_JOB_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/invocation.h"
#include "kernels/tensor_bytes.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/execute/request_job.h"
#include "server/execute/run_plan.h"
#include "server/execute/run_progress.h"
#include "server/tensors/input_ring.h"
#include "server/wire/wire_message.h"

namespace opserve {

// One operator, whose result goes into the message or to one place. The functions are called in
// this order, those about the result only if the call has run. Where the payloads come in runs,
// MakeCall and Finish are called for each run in turn, and are about its part of the result.
class ExecuteWork {
 public:
  using Request = v1::ExecuteRequest;
  using Response = v1::ExecuteResponse;
  static constexpr absl::string_view kRefusedEvent = "request refused";

  // Both must outlive the work.
  ExecuteWork(const ExecuteParts& parts, const Request& request)
      : parts_(parts), request_(request), ring_(parts.clock) {}

  // Finds payloads of a request of `caller` that are not in the message: `lengths` is then theirs.
  // Fails, and adds to `violations`, as FindOutputs does.
  absl::Status FindPayloads(const PlaceCaller& caller, const JobOrigin& origin,
                            std::vector<uint64_t>& lengths, std::vector<Violation>& violations);

  // Finds where the results of a request of `caller` go. Fails where something is named that is not
  // there; what else is wrong is added to `violations`.
  absl::Status FindOutputs(const PlaceCaller& caller, std::vector<Violation>& violations);

  // Checks the request, of which `violations` are known already.
  absl::StatusOr<Workload> Validate(const InputPlaces& inputs, const JobOrigin& origin,
                                    std::vector<Violation> violations);

  // How the payloads come in runs, once the request is valid.
  const RunProgress& runs() const { return runs_; }
  RunProgress& runs() { return runs_; }
  // Bytes of each whole result, likewise.
  std::vector<uint64_t> ResultLengths() const { return {invocation_->output_bytes}; }

  // The device that a place of a result is on; empty: none.
  absl::string_view home() const { return output_place_.home(); }
  bool results_may_wait() const { return output_place_.may_wait(); }

  // The call, with room for its result. Throws std::bad_alloc.
  DeviceCall MakeCall(const std::vector<TensorBytes>& inputs, const CallSetting& setting);

  // Brings the results to their places, or returns them; `payloads` may hold some. Fills in all
  // else of the response, and gives up what the work holds of the places.
  absl::StatusOr<JobResults> Finish(const RunRecord& record, ReceivedMessage& payloads,
                                    Response& header);

  // What log lines say of the request, and the line of its answer.
  LogField LoggedSubject() const;
  void LogAnswer(const RunRecord& record) const;

  // Fills in what `record` says of the work. The operator of a request that is not valid is known
  // by its name, if it has one of the table.
  void Describe(RequestRecord& record) const;

 private:
  absl::Status CheckOutputPlace(const InputPlaces& inputs, const JobOrigin& origin);
  // Whether a GPU may run the request.
  bool MayRunOnGpu() const;
  absl::Status CheckRing();
  // Whether a client is told that the payloads of such a request may come through a ring.
  bool TakesRing() const;
  // Checks the request and divides it into runs, or finds out why that cannot be: there are none
  // then.
  absl::Status FindRuns(const InputPlaces& inputs, const RequestHeader& header,
                        const RunOffer& offer, const std::vector<Violation>& violations);
  // The inputs of the present run, those that were sent ahead from where it begins on; of the whole
  // call where there are no runs.
  std::array<TensorBytes, kMaxInputs> InputsOfRun(const std::vector<TensorBytes>& payloads) const;
  // Whether input `input` was sent ahead.
  bool IsAhead(int input) const;
  // The call that is computed now.
  const Invocation& call() const { return part_ ? *part_ : *invocation_; }
  // The input whose payload the result can take the place of; nullopt: none.
  std::optional<int> InPlaceInput(const CallSetting& setting) const;

  const ExecuteParts& parts_;
  const Request& request_;
  // Where the payloads come through, where they do.
  InputRing ring_;
  OutputPlace output_place_;
  // Whether the result is computed where it belongs.
  bool is_direct_ = false;
  // The input whose payload the result takes the place of.
  std::optional<int> in_place_;
  std::shared_ptr<const Invocation> invocation_;
  RunProgress runs_;
  // The call on the elements of the present run.
  std::optional<Invocation> part_;
  HostBuffer output_;
};

using ExecuteJob = RequestJob<ExecuteWork>;
extern template class RequestJob<ExecuteWork>;

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_EXECUTE_JOB_H_
