// File: server/execute/execute_job.h
//
// The job of one Execute: from its request to its answer, wherever that goes.

#ifndef OPSERVE_SERVER_EXECUTE_EXECUTE_JOB_H_
#define OPSERVE_SERVER_EXECUTE_EXECUTE_JOB_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/arena.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/host_buffers.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/batch/job.h"
#include "server/pool/device_pool.h"
#include "server/tensors/tensor_places.h"
#include "server/validate/request_validator.h"
#include "server/wire/payload_source.h"
#include "server/wire/wire_message.h"

namespace opserve {

struct ExecuteOptions {
  // Where requests run that do not say.
  Placement placement = Placement::kAuto;
  // Most bytes of tensors that one stream may have under way.
  uint64_t max_stream_bytes = uint64_t{512} << 20;
  // Most steps of a sequence.
  size_t max_sequence_steps = 64;
};

// What all jobs share. Everything must outlive them.
struct ExecuteParts {
  const Clock& clock;
  DevicePool& pool;
  RequestValidator& validator;
  Admission& admission;
  Logger& logger;
  ExecuteOptions options;
  // Holds back log lines of refused requests.
  RateLimiter& refusals;
  // Where results and gathered payloads go.
  HostBufferPool& buffers;
  PlaceParts places;
};

// Where a job comes from.
struct JobOrigin {
  Clock::TimePoint deadline = Clock::kNever;
  // Whether its result has to fit into one message.
  bool answers_in_one_message = true;
};

// Where a job comes from and its answer goes. One of Send and Fail is called, once, on any thread.
class ExecuteReply {
 public:
  // Who sent the request; see server/rpc/client_identity.h. Only in the thread that calls Accept
  // and Submit.
  virtual std::string client() = 0;
  // The result: a response without its payload, and that.
  virtual void Send(const v1::ExecuteResponse& header, OutgoingPayload payload) = 0;
  virtual void Fail(const absl::Status& why) = 0;

 protected:
  ~ExecuteReply() = default;
};

// Belongs to whoever made it, who destroys it once it has been answered and the answer sent: it
// holds the request's share of the server.
class ExecuteJob final : public Job {
 public:
  // Both must outlive the job.
  ExecuteJob(const ExecuteParts& parts, ExecuteReply& reply) : parts_(parts), reply_(reply) {}

  // The request without its payloads. To be filled in before Accept.
  v1::ExecuteRequest& request() { return request_; }

  // Validates and admits the request, whose payloads have these lengths. Where that fails, Refuse
  // is to be called.
  absl::Status Accept(std::vector<uint64_t> payload_bytes, const JobOrigin& origin);

  // Queues the accepted request, or answers it at once; never blocks. Another thread may answer
  // before this returns, or this one.
  void Submit(std::unique_ptr<PayloadSource> payloads);

  // Refuses the job if it still waits. Not before Submit has returned.
  void Cancel() { parts_.pool.Cancel(*this); }

  absl::StatusOr<DeviceCall> Prepare(DeviceKind kind) override;
  void Answer(const RunRecord& record) override;
  void Refuse(const absl::Status& why) override;

 private:
  absl::Status FindPlaces(std::vector<uint64_t> payload_bytes, std::vector<Violation>& violations);
  // Once the request is valid.
  absl::Status CheckOutputPlace();
  void MakeCall(DeviceKind kind);
  // The input whose payload the result can take the place of; nullopt: none.
  std::optional<int> InPlaceInput(DeviceKind kind) const;
  void LogAnswer(const RunRecord& record) const;
  void LogRefusal(const absl::Status& status) const;

  const ExecuteParts& parts_;
  ExecuteReply& reply_;
  // The request's strings and messages: one piece, given up at once.
  alignas(8) std::array<char, 1024> arena_block_;
  google::protobuf::Arena arena_{arena_block_.data(), arena_block_.size()};
  v1::ExecuteRequest& request_ =
      *google::protobuf::Arena::CreateMessage<v1::ExecuteRequest>(&arena_);
  std::unique_ptr<PayloadSource> payloads_;
  InputPlaces inputs_;
  OutputPlace output_place_;
  // Whether regions are only copied from and to.
  bool copies_regions_ = false;
  // Whether the result is computed where it belongs.
  bool is_direct_ = false;
  std::shared_ptr<const Invocation> invocation_;
  HostBuffer output_;
  std::optional<DeviceCall> call_;
  Admission::Permit permit_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_EXECUTE_JOB_H_
