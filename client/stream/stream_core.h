// File: client/stream/stream_core.h
//
// The stream behind the public class: requests that are open, what is sent next, what has come.

#ifndef OPSERVE_CLIENT_STREAM_STREAM_CORE_H_
#define OPSERVE_CLIENT_STREAM_STREAM_CORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "client/base/clock.h"
#include "client/rpc/raw_stream.h"
#include "client/stream/answer_assembly.h"
#include "client/stream/stream_outbox.h"
#include "opserve/client.h"
#include "opserve/sequence.h"
#include "proto/base/host_buffers.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

// Thread-safe. Owned by its user, who must Finish it before buffers and clock go, and by the stream
// until that is over.
class StreamCore final : public RawStream::Observer,
                         public std::enable_shared_from_this<StreamCore> {
 public:
  StreamCore(const StreamOptions& options, absl::Duration request_timeout, HostBufferPool& buffers,
             ClientClock& clock, std::unique_ptr<RawStream> raw)
      : piece_bytes_(options.piece_bytes),
        offered_from_(options.pipelined_from_bytes),
        request_timeout_(request_timeout),
        buffers_(buffers),
        clock_(clock),
        raw_(std::move(raw)),
        outbox_(options.max_bytes_in_flight) {}

  // To be called once, before all else.
  void Start() { raw_->Start(shared_from_this()); }

  // As those of ExecuteStream.
  uint64_t Submit(const OperatorCall& call, ExecuteCallback done,
                  std::optional<absl::Duration> timeout);
  uint64_t Submit(const OperatorSequence& sequence, SequenceCallback done,
                  std::optional<absl::Duration> timeout);
  void Cancel(uint64_t id);
  absl::Status Finish(absl::Duration timeout);

 private:
  using Callback = std::variant<ExecuteCallback, SequenceCallback>;
  struct Request;
  using RequestPtr = std::shared_ptr<Request>;

  void OnMessage(grpc::ByteBuffer& message) override;
  void OnWritten() override;
  void OnMessagesEnd() override;
  void OnEnd(const absl::Status& status) override;

  // Takes a message. DATA_LOSS where it breaks the rules.
  absl::Status Take(grpc::ByteBuffer& bytes);
  // The request of a message; nullptr where there is none of this id.
  RequestPtr Find(uint64_t id, bool& is_wanted);
  void OnAnswered(const RequestPtr& request);
  // Whether the message answers the offer of a request, which is then dealt with.
  absl::StatusOr<bool> TakeTerms(const RequestPtr& request,
                                 const v1::ExecuteStreamResponse& header);
  // The result of a run has come.
  absl::Status OnRunAnswered(const RequestPtr& request);
  // Gives up what is open for too long, and the stream where that keeps memory for too long, where
  // `time` is still the time to do so.
  void OnTimer(absl::Time time);
  // Ends the stream because of `why`, unless there was a reason before.
  void End(const absl::Status& why);
  // Hands the outcome of a request over once its memory is the caller's again.
  void Deliver(RequestPtr request);
  void Run(Request& request);

  // Submits a message that is a StreamedCall, or a StreamedSequence of so many outputs, unless
  // `why_not` is an error, which is its outcome then.
  uint64_t Submit(OutgoingMessage message, std::optional<size_t> sequence_outputs,
                  absl::Status why_not, Callback done, std::optional<absl::Duration> timeout);
  // Adds a request to those that wait to be sent. Where `why_not` is an error, the request has that
  // as its outcome, and false is returned.
  bool Enqueue(const RequestPtr& request, absl::Status why_not,
               std::optional<absl::Duration> timeout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives an open request up. Returns false where it has an outcome already.
  bool Abandon(const RequestPtr& request, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sees to it that OnTimer runs at `time`, or before.
  void WakeAt(absl::Time time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why no more requests are taken; OK: they are.
  absl::Status WhyClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t piece_bytes_;
  const uint64_t offered_from_;
  const absl::Duration request_timeout_;
  HostBufferPool& buffers_;
  ClientClock& clock_;
  const std::unique_ptr<RawStream> raw_;

  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  StreamOutbox outbox_ ABSL_GUARDED_BY(mutex_);
  // What follows the message that is being written, which may wait for it.
  std::optional<grpc::ByteBuffer> ahead_ ABSL_GUARDED_BY(mutex_);
  // Requests whose answers are still to come, those included that nobody waits for any more.
  std::map<uint64_t, RequestPtr> open_ ABSL_GUARDED_BY(mutex_);
  // Requests whose callbacks have not returned.
  std::map<uint64_t, RequestPtr> pending_ ABSL_GUARDED_BY(mutex_);
  absl::Time wake_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // What will run OnTimer then.
  std::optional<ClientClock::Key> timer_ ABSL_GUARDED_BY(mutex_);
  bool is_finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool may_write_ ABSL_GUARDED_BY(mutex_) = true;
  // Whether this side ended the stream, and nobody minds.
  bool is_dropped_ ABSL_GUARDED_BY(mutex_) = false;
  // Why this side ended the stream; OK: it did not.
  absl::Status reason_ ABSL_GUARDED_BY(mutex_);
  // Once the stream is over: what became of it.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  // Whether everybody has been told of that.
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_STREAM_STREAM_CORE_H_
