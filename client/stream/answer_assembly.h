// File: client/stream/answer_assembly.h
//
// The answer to one request of a stream, put together from the messages in which it comes.

#ifndef OPSERVE_CLIENT_STREAM_ANSWER_ASSEMBLY_H_
#define OPSERVE_CLIENT_STREAM_ANSWER_ASSEMBLY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "client/wire/message.h"
#include "opserve/client.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/host_buffers.h"

namespace opserve::client_internal {

// The results of a request, in the order of its outputs; nearly always there is one.
using StreamResults = absl::InlinedVector<Tensor, 1>;

// Not thread-safe.
class AnswerAssembly {
 public:
  // `sequence_outputs`: how many outputs the sequence has that is answered, if the server knows
  // such requests; nullopt: it is a call.
  explicit AnswerAssembly(std::optional<size_t> sequence_outputs)
      : is_sequence_(sequence_outputs.has_value()), results_(sequence_outputs.value_or(1)) {}

  // Takes the next message of the answer: `header`, and the payload of `message`. Memory for the
  // results is of `buffers`; nullptr: nobody wants them. DATA_LOSS where the message contradicts
  // itself or those before, so that nobody can tell what else comes.
  //
  // An answer in runs begins with the server's terms, and has results only with the response in its
  // last message: what came before an error is of no use.
  absl::Status Add(const v1::ExecuteStreamResponse& header, const ResponseMessage& message,
                   HostBufferPool* buffers);

  bool is_sequence() const { return is_sequence_; }
  bool is_complete() const;
  // Whether the server has agreed to runs.
  bool is_in_runs() const { return is_in_runs_; }
  // Whether a piece of payload `number`, which has been added, is all of a run that was missing.
  bool EndsRun(size_t number) const { return is_in_runs_ && number + 1 == results_.size(); }

  // The results, or why there are none. To be called once it is complete.
  absl::StatusOr<StreamResults> TakeResults();
  const ExecutionInfo& info() const { return info_; }

 private:
  struct Result {
    uint64_t bytes = 0;
    uint64_t received = 0;
    TensorSpec spec = {};
    std::shared_ptr<const HostBuffer> buffer = nullptr;  // none: what comes is dropped
  };

  absl::Status Begin(const v1::ExecuteStreamResponse& header, HostBufferPool* buffers);
  absl::Status BeginRuns(const v1::ExecuteStreamResponse& header, HostBufferPool* buffers);
  // Takes how long the results are, and memory for them.
  absl::Status TakeLengths(const v1::ExecuteStreamResponse& header, HostBufferPool* buffers);
  // Takes the response or the error that a message has.
  absl::Status TakeResponse(const v1::ExecuteStreamResponse& header);
  absl::Status TakeError(const v1::ExecuteStreamResponse& header);
  // Takes what a message that follows the first one has beside bytes.
  absl::Status Continue(const v1::ExecuteStreamResponse& header);
  absl::Status AddPiece(const v1::ExecuteStreamResponse& header, const ResponseMessage& message);
  // Bytes of results that have not come.
  uint64_t missing_bytes() const;

  const bool is_sequence_;
  bool has_begun_ = false;
  bool is_in_runs_ = false;
  // Whether the server has told an error, after which nothing comes.
  bool has_failed_ = false;
  // Whether the response has come.
  bool has_response_ = false;
  absl::Status error_;
  ExecutionInfo info_;
  absl::InlinedVector<Result, 1> results_;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_STREAM_ANSWER_ASSEMBLY_H_
