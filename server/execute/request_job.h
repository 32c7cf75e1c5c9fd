// File: server/execute/request_job.h
//
// The job of a request that computes something: from its message to its answer, wherever that goes.

#ifndef OPSERVE_SERVER_EXECUTE_REQUEST_JOB_H_
#define OPSERVE_SERVER_EXECUTE_REQUEST_JOB_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/base/host_buffers.h"
#include "server/access/caller.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/batch/job.h"
#include "server/execute/run_plan.h"
#include "server/lease/device_leases.h"
#include "server/pool/device_pool.h"
#include "server/record/request_record.h"
#include "server/tensors/tensor_places.h"
#include "server/validate/request_validator.h"
#include "server/validate/sequence_validator.h"
#include "server/wire/wire.h"
#include "server/wire/wire_message.h"

namespace opserve {

struct ExecuteOptions {
  // Where requests run that do not say.
  Placement placement = Placement::kAuto;
  // Most bytes of tensors that one stream may have under way.
  uint64_t max_stream_bytes = uint64_t{512} << 20;
  // Most bytes of inputs and results that a request holds which is computed run by run.
  uint64_t stream_window_bytes = uint64_t{8} << 20;
  // The payloads of a request of a stream must be complete after this time and a second for each
  // MiB of its tensors; the time in which the server does not read the stream is not counted.
  Clock::Duration upload_grace = std::chrono::seconds(10);
  // Most steps of a sequence.
  size_t max_sequence_steps = 64;
};

// What all jobs share. Everything must outlive them.
struct ExecuteParts {
  const Clock& clock;
  DevicePool& pool;
  RequestValidator& validator;
  const SequenceValidator& sequence_validator;
  Admission& admission;
  Logger& logger;
  ExecuteOptions options;
  // Holds back log lines of refused requests.
  RateLimiter& refusals;
  // Where results and gathered payloads go.
  HostBufferPool& buffers;
  PlaceParts places;
  // The leases of devices; nullptr: there are none.
  const DeviceLeases* leases = nullptr;
  // Gets the requests of streams when they have ended; nullptr: nobody wants to know. Unary calls
  // are reported by server/rpc/unary_call.h.
  RequestObserver* observer = nullptr;
};

// What a job knows of the call that it comes from.
struct JobOrigin {
  Clock::TimePoint deadline = Clock::kNever;
  // Whether its result has to fit into one message.
  bool answers_in_one_message = true;
  // Whether its payloads may come through a ring.
  bool takes_ring = false;
  // What came beside the contents of the payloads.
  size_t header_bytes = 0;
  // Where the payloads may come run by run: what the client offers.
  std::optional<RunOffer> offer = {};
  // Whether a result's place in a region may have more bytes than the result, whose place its first
  // ones are then.
  bool takes_larger_place = false;
};

// Where a job comes from and its answer goes. One of Send and Fail is called, once, on any thread.
template <class Response>
class JobReply {
 public:
  // Who sent the request. Lives as long as the reply.
  virtual const Caller& caller() const = 0;
  // The results: a response without its payloads, and these, which are the reply's to take. A
  // result that went to a place of its own has no bytes here.
  virtual void Send(const Response& header, std::span<OutgoingPayload> payloads) = 0;
  virtual void Fail(const absl::Status& why) = 0;
  // What is to be filled in of the request before its answer is sent; nullptr: nobody wants to
  // know.
  virtual RequestRecord* record() { return nullptr; }

 protected:
  ~JobReply() = default;
};

// Why a request cannot come in runs, whatever it computes, in words that go with "because"; empty:
// it can.
absl::string_view WhyWholeWith(const ExecuteParts& parts, const RequestEnvelope& envelope,
                               const InputPlaces& inputs, bool has_output_place);

// How the inputs of a request come.
enum class InputArrival : uint8_t {
  kWhole,       // before it is queued
  kInRuns,      // run by run, each of which is queued and computed on the processor
  kThroughRing  // from memory that the client fills meanwhile, for the processor alone
};

// What a valid request asks of the server.
struct Workload {
  LaneKey lane = {};
  // The sequence to run; nullptr where it is one operator. Lives as long as the job.
  const SequenceInvocation* sequence = nullptr;
  // Bytes of all inputs and results that are computed at a time, by which queues and cost models
  // go.
  uint64_t bytes = 0;
  // Bytes of memory that the request takes until it is answered.
  uint64_t held_bytes = 0;
  InputArrival arrival = InputArrival::kWhole;
  // As JobTraits::waits_for_inputs.
  bool waits_for_inputs = false;
};

// How a call is to be made.
struct CallSetting {
  // The kind of device that is the first to run it.
  DeviceKind kind = DeviceKind::kCpu;
  // Whether bytes in regions are only copied from and to.
  bool copies_regions = false;
  // Whether all inputs came in the message, so that only this request sees them.
  bool owns_inputs = false;
  // Where they are, taken.
  const InputPlaces* inputs = nullptr;
  // Set once nobody waits for the results any more; lives as long as the job.
  const std::atomic<bool>* stop = nullptr;
};

// The results of a job; nearly always there is one.
using JobResults = absl::InlinedVector<OutgoingPayload, 1>;

// Accepts, queues, answers and refuses; what is computed, and where its results go, is the `Work`:
// an ExecuteWork (server/execute/execute_job.h) or a SequenceWork (server/execute/sequence_job.h).
//
// A job belongs to whoever made it, who destroys it once it has been answered and the answer sent:
// it holds the request's share of the server.
template <class Work>
class RequestJob final : public Job {
 public:
  using Request = typename Work::Request;
  using Response = typename Work::Response;
  using Reply = JobReply<Response>;

  // Both must outlive the job.
  RequestJob(const ExecuteParts& parts, Reply& reply) : parts_(parts), reply_(reply) {}

  // The request without its payloads. To be filled in before Accept.
  Request& request() { return request_; }

  // Does all of what follows for a request whose bytes are these: reads it, and then accepts and
  // submits or refuses it. Takes over the slices of `bytes`; never blocks.
  void Start(grpc::ByteBuffer& bytes, const JobOrigin& origin);

  // Validates and admits the request, whose payloads have these lengths. Where that fails, Refuse
  // is to be called.
  absl::Status Accept(std::vector<uint64_t> payload_bytes, const JobOrigin& origin);

  // Queues the accepted request, or answers it at once; never blocks. Another thread may answer
  // before this returns, or this one. Where the work comes in runs, this is for one of them, in
  // their order, and not before the run before it has been answered; one that is refused is the
  // last.
  void Submit(ReceivedMessage payloads);

  // What is computed.
  const Work& work() const { return work_; }
  Work& work() { return work_; }
  // Bytes of memory that it was accepted with, its own not counted.
  uint64_t held_bytes() const { return held_bytes_; }

  // Refuses the job if it still waits; a sequence that the processor runs ends soon. Not before the
  // first Submit has returned.
  void Cancel() {
    is_stopped_ = true;
    parts_.pool.Cancel(*this);
  }

  absl::StatusOr<DeviceCall> Prepare(DeviceKind kind) override;
  void Answer(const RunRecord& record) override;
  void Charge(Clock::Duration cost) override;
  void Refuse(const absl::Status& why) override;

 private:
  // The prepared call, whose volatile inputs the host has where the processor is to run it.
  const DeviceCall& WithInputsFor(DeviceKind kind);
  absl::Status FindPlaces(std::vector<uint64_t>&& payload_bytes, const JobOrigin& origin,
                          std::vector<Violation>& violations);
  // Has the job run on the device that its caller has this lease of.
  absl::Status FindLease(absl::string_view id, JobTraits& traits) const;
  void LogRefusal(const absl::Status& status) const;
  // Fills in what the reply wants to know of the request; nullptr: it did not run.
  void Describe(const RunRecord* run);
  void NameClient();
  // How the job was run so far, with its latest run.
  const RunRecord& AddRun(const RunRecord& run);

  const ExecuteParts& parts_;
  Reply& reply_;
  // The request's strings and messages are one piece of memory, which is given up at once.
  alignas(8) std::array<char, 1024> arena_block_;
  google::protobuf::Arena arena_{arena_block_.data(), arena_block_.size()};
  Request& request_ = *google::protobuf::Arena::CreateMessage<Request>(&arena_);
  Work work_{parts_, request_};
  ReceivedMessage payloads_;
  InputPlaces inputs_;
  std::optional<DeviceCall> call_;
  // What is known of all runs so far; absent before the first.
  std::optional<RunRecord> ran_;
  bool is_client_named_ = false;
  uint64_t held_bytes_ = 0;
  std::atomic<bool> is_stopped_ = false;
  Admission::Permit permit_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_REQUEST_JOB_H_
