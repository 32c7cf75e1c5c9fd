// File: server/execute/stream_job.h
//
// One request of a stream: a job whose answer goes into the stream.

#ifndef OPSERVE_SERVER_EXECUTE_STREAM_JOB_H_
#define OPSERVE_SERVER_EXECUTE_STREAM_JOB_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/execute/answer_queue.h"
#include "server/execute/execute_job.h"
#include "server/execute/run_plan.h"
#include "server/execute/run_queue.h"
#include "server/wire/wire_message.h"

namespace opserve {

// The name of the method that streams are calls of; lives for ever.
inline constexpr absl::string_view kStreamMethod = "ExecuteStream";

// Lives until its answer has been sent: it holds the request's share of the server. One that is
// destroyed before it was answered, because its stream has ended, is reported as cancelled.
class StreamJob final : private ExecuteJob::Reply, private RequestSource {
 public:
  class Owner {
   public:
    // Who sends the stream. Lives as long as the owner.
    virtual const Caller& caller() const = 0;
    // The metadata `traceparent` of the stream; empty: none.
    virtual const std::string& traceparent() const = 0;
    // Called once for each job, on any thread, perhaps before Submit or Refuse returns; of a job
    // that comes in runs once for each run, until the answer is the last one.
    virtual void OnAnswered(StreamJob& job, StreamAnswer answer) = 0;

   protected:
    ~Owner() = default;
  };

  // `parts` and `owner` must outlive the job.
  StreamJob(const ExecuteParts& parts, Owner& owner, uint64_t id, v1::ExecuteRequest request);
  ~StreamJob();

  uint64_t id() const { return id_; }
  // Bytes of its inputs and its output; 0 before it is accepted.
  uint64_t bytes() const { return runs() == nullptr ? job_.traits().bytes : runs()->bytes(); }
  // How many of these it holds at a time.
  uint64_t held_bytes() const { return job_.held_bytes(); }
  // How its payloads come in runs; nullptr: they do not, or it is not accepted.
  const RunPlan* runs() const { return job_.work().runs(); }
  // Runs that have come and wait; to be used where there are runs.
  RunQueue& run_queue() { return run_queue_; }

  // When it was accepted.
  Clock::TimePoint accepted() const { return job_.traits().accepted; }

  // These do what those of ExecuteJob do. `offer`: what the request came with.
  absl::Status Accept(std::vector<uint64_t> payload_bytes, Clock::TimePoint deadline,
                      size_t header_bytes, std::optional<RunOffer> offer);
  // What its offer is answered with, once it is accepted.
  StreamAnswer Terms() const;
  // To be told before the first run where payloads are sent ahead.
  void TakeAhead(ReceivedMessage payloads) { job_.work().TakeAhead(std::move(payloads)); }
  void Submit(ReceivedMessage payloads) { job_.Submit(std::move(payloads)); }
  // To be told before Submit where the payloads came in pieces.
  void OnPayloadsComplete();
  void Refuse(const absl::Status& why) { job_.Refuse(why); }
  void Cancel() { job_.Cancel(); }

 private:
  const Caller& caller() const override { return owner_.caller(); }
  void Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) override;
  void Fail(const absl::Status& why) override;
  RequestRecord* record() override { return parts_.observer == nullptr ? nullptr : &record_; }
  std::string client() const override { return owner_.caller().client(); }
  std::string traceparent() const override { return owner_.traceparent(); }
  void Report(const absl::Status& status);

  const ExecuteParts& parts_;
  const uint64_t id_;
  Owner& owner_;
  RequestRecord record_;
  bool is_reported_ = false;
  // Whether it came with an offer.
  bool is_offered_ = false;
  // The size of all answers so far, with their headers.
  uint64_t bytes_out_ = 0;
  RunQueue run_queue_;
  ExecuteJob job_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_STREAM_JOB_H_
