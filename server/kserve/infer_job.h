// File: server/kserve/infer_job.h
//
// The job of one request of KServe's protocol, unary or of a stream: a request of opserve's own
// whose answer is one of KServe's.

#ifndef OPSERVE_SERVER_KSERVE_INFER_JOB_H_
#define OPSERVE_SERVER_KSERVE_INFER_JOB_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "inference/inference_service.pb.h"
#include "server/execute/execute_job.h"
#include "server/kserve/system_memory.h"

namespace opserve {

// The field of a response that its payload goes into.
inline constexpr int kRawOutputField = inference::ModelInferResponse::kRawOutputContentsFieldNumber;

// Belongs to whoever made it, like the ExecuteJob in it, which holds the request's share of the
// server until it is destroyed.
class InferJob final : private ExecuteJob::Reply {
 public:
  class Owner {
   public:
    // Who sent the request. Lives as long as the owner.
    virtual const Caller& caller() const = 0;
    // One of these is called, once, on any thread, perhaps before Start returns. `response` has all
    // but the payload, which is the owner's to take.
    virtual void OnInferred(const inference::ModelInferResponse& response,
                            OutgoingPayload payload) = 0;
    virtual void OnRefused(const absl::Status& why) = 0;
    // What is to be filled in of the request before that; nullptr: nobody wants to know.
    virtual RequestRecord* record() = 0;

   protected:
    ~Owner() = default;
  };

  // All must outlive the job.
  InferJob(const ExecuteParts& parts, const SystemMemory& memory, Owner& owner)
      : parts_(parts), memory_(memory), owner_(owner), job_(parts, *this) {}

  // Reads, translates, accepts and queues the request, or refuses it; never blocks. Takes over the
  // slices of `bytes`. To be called once.
  void Start(grpc::ByteBuffer& bytes, Clock::TimePoint deadline);

  // As of ExecuteJob, once Start has returned.
  void Cancel() { job_.Cancel(); }

  // The request's id, once Start has been called.
  const std::string& id() const { return response_.id(); }

  // Bytes of memory that it was accepted with, once Start has returned; 0 where it was not.
  uint64_t held_bytes() const { return job_.held_bytes(); }

 private:
  // Translates and accepts the request; `payloads` becomes what is to be submitted.
  absl::Status Accept(grpc::ByteBuffer& bytes, Clock::TimePoint deadline,
                      ReceivedMessage& payloads);

  const Caller& caller() const override { return owner_.caller(); }
  void Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) override;
  void Fail(const absl::Status& why) override { owner_.OnRefused(why); }
  RequestRecord* record() override { return owner_.record(); }

  const ExecuteParts& parts_;
  const SystemMemory& memory_;
  Owner& owner_;
  // What is known of the answer before there is a result. The request itself is not kept: its
  // fields, and those that nobody knows, take many times the bytes that it is admitted with.
  inference::ModelInferResponse response_;
  bool marks_final_response_ = false;
  ExecuteJob job_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_KSERVE_INFER_JOB_H_
