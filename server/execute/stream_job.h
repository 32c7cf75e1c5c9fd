// File: server/execute/stream_job.h
//
// One request of a stream: a job whose answer goes into the stream.

#ifndef OPSERVE_SERVER_EXECUTE_STREAM_JOB_H_
#define OPSERVE_SERVER_EXECUTE_STREAM_JOB_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "opserve/v1/operator_service.pb.h"
#include "server/execute/answer_queue.h"
#include "server/execute/request_job.h"
#include "server/execute/run_plan.h"
#include "server/execute/run_queue.h"
#include "server/wire/wire_message.h"

namespace opserve {

// The name of the method that streams are calls of; lives for ever.
inline constexpr absl::string_view kStreamMethod = "ExecuteStream";

// Lives until its answer has been sent: it holds the request's share of the server. One that is
// destroyed before it was answered, because its stream has ended, is reported as cancelled.
class StreamJob {
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

  // The job of the request that is in `message`: of one operator, or a sequence. `parts` and
  // `owner` must outlive it.
  static std::shared_ptr<StreamJob> Make(const ExecuteParts& parts, Owner& owner,
                                         v1::ExecuteStreamRequest& message);
  virtual ~StreamJob() = default;

  uint64_t id() const { return id_; }
  // Runs that have come and wait; to be used where there are runs.
  RunQueue& run_queue() { return run_queue_; }

  // How its payloads come in runs; nullptr: they do not, or it is not accepted.
  virtual const RunPlan* runs() const = 0;
  // Bytes of its inputs and its output; 0 before it is accepted.
  virtual uint64_t bytes() const = 0;
  // How many bytes it holds at a time.
  virtual uint64_t held_bytes() const = 0;
  // When it was accepted.
  virtual Clock::TimePoint accepted() const = 0;

  // So many bytes of payloads have come for it, for the records. In the poller's thread, at any
  // time.
  virtual void OnReceived(uint64_t bytes) = 0;

  // These do what those of RequestJob do. `offer`: what the request came with.
  virtual absl::Status Accept(std::vector<uint64_t> payload_bytes, Clock::TimePoint deadline,
                              size_t header_bytes, std::optional<RunOffer> offer) = 0;
  // What its offer is answered with, once it is accepted.
  virtual StreamAnswer Terms() const = 0;
  // To be told before the first run where payloads are sent ahead.
  virtual void TakeAhead(ReceivedMessage payloads) = 0;
  virtual void Submit(ReceivedMessage payloads) = 0;
  // To be told before Submit where the payloads came in pieces.
  virtual void OnPayloadsComplete() = 0;
  virtual void Refuse(const absl::Status& why) = 0;
  virtual void Cancel() = 0;

 protected:
  explicit StreamJob(uint64_t id) : id_(id) {}

 private:
  const uint64_t id_;
  RunQueue run_queue_;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EXECUTE_STREAM_JOB_H_
