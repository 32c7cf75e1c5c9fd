// File: server/execute/sequence_job.h
//
// The job of one ExecuteSequence: from its request to its answer, wherever that goes.

#ifndef OPSERVE_SERVER_EXECUTE_SEQUENCE_JOB_H_
#define OPSERVE_SERVER_EXECUTE_SEQUENCE_JOB_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/admission/admission.h"
#include "server/batch/job.h"
#include "server/execute/execute_job.h"
#include "server/tensors/tensor_places.h"
#include "server/validate/sequence_validator.h"
#include "server/wire/wire_message.h"

namespace opserve {

// Where the answer of a job goes. One of the two is called, once, on any thread.
class SequenceReply {
 public:
  // The results: a response without its payloads, and these.
  virtual void Send(const v1::ExecuteSequenceResponse& header,
                    std::span<const OutgoingPayload> payloads) = 0;
  virtual void Fail(const absl::Status& why) = 0;

 protected:
  ~SequenceReply() = default;
};

// Belongs to whoever made it, who destroys it once it has been answered and the answer sent: it
// holds the request's share of the server.
class SequenceJob final : public Job {
 public:
  // All must outlive the job; of `parts`, the validator is not used.
  SequenceJob(const ExecuteParts& parts, const SequenceValidator& validator, SequenceReply& reply)
      : parts_(parts), validator_(validator), reply_(reply) {}

  // The request without its payloads. To be filled in before Accept.
  v1::ExecuteSequenceRequest& request() { return request_; }

  // Validates and admits the request, whose payloads have these lengths. Where that fails, Refuse
  // is to be called.
  absl::Status Accept(std::vector<uint64_t> payload_bytes, std::string client,
                      Clock::TimePoint deadline);

  // Queues the accepted request, or answers it at once; never blocks. Another thread may answer
  // before this returns.
  void Submit(std::unique_ptr<PayloadSource> payloads);

  // Refuses the job if it still waits. Not before Submit has returned.
  void Cancel() { parts_.pool.Cancel(*this); }

  absl::StatusOr<DeviceCall> Prepare(DeviceKind kind) override;
  void Answer(const RunRecord& record) override;
  void Refuse(const absl::Status& why) override;

 private:
  absl::Status FindPlaces(std::vector<uint64_t> payload_bytes, const std::string& client,
                          std::vector<Violation>& violations);
  // Once the request is valid.
  absl::Status CheckOutputPlaces() const;
  // The device that the first of the tensors is placed on that is placed on one; empty: none is.
  absl::string_view Home() const;
  void MakeCall();
  void LogAnswer(const RunRecord& record) const;
  void LogRefusal(const absl::Status& status) const;

  const ExecuteParts& parts_;
  const SequenceValidator& validator_;
  SequenceReply& reply_;
  v1::ExecuteSequenceRequest request_;
  std::unique_ptr<PayloadSource> payloads_;
  InputPlaces inputs_;
  // Of the outputs that the request lists.
  std::vector<OutputPlace> output_places_;
  std::shared_ptr<const SequenceInvocation> sequence_;
  std::vector<std::shared_ptr<HostBuffer>> outputs_;
  // Without a sequence until it is prepared.
  SequenceCall call_;
  Admission::Permit permit_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_SEQUENCE_JOB_H_
