// File: client/stream/answer_assembly.h
//
// The answer to one request of a stream, put together from the messages in which it comes.

#ifndef OPSERVE_CLIENT_STREAM_ANSWER_ASSEMBLY_H_
#define OPSERVE_CLIENT_STREAM_ANSWER_ASSEMBLY_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "client/wire/message.h"
#include "opserve/client.h"
#include "opserve/v1/operator_service.pb.h"
#include "proto/base/host_buffers.h"

namespace opserve::client_internal {

// Not thread-safe.
class AnswerAssembly {
 public:
  // `is_sequence`: what is answered, if the server knows such requests.
  explicit AnswerAssembly(bool is_sequence) : is_sequence_(is_sequence) {}

  // Takes the next message of the answer: `header`, and the payload of `message`. Memory for the
  // result is of `buffers`; nullptr: nobody wants it. DATA_LOSS where the message contradicts
  // itself or those before, so that nobody can tell what else comes.
  //
  // An answer in runs begins with the server's terms, and is a result only with the response in its
  // last message: what came before an error is of no use.
  absl::Status Add(const v1::ExecuteStreamResponse& header, const ResponseMessage& message,
                   HostBufferPool* buffers);

  bool is_sequence() const { return is_sequence_; }
  bool is_complete() const;
  // Whether the server has agreed to runs.
  bool is_in_runs() const { return is_in_runs_; }

  // The result, or why there is none. To be called once it is complete.
  absl::StatusOr<Tensor> TakeResult();
  const ExecutionInfo& info() const { return info_; }

 private:
  absl::Status Begin(const v1::ExecuteStreamResponse& header, HostBufferPool* buffers);
  absl::Status BeginRuns(const v1::ExecuteStreamResponse& header, HostBufferPool* buffers);
  // Takes the response or the error that a message has.
  absl::Status TakeResponse(const v1::ExecuteStreamResponse& header);
  absl::Status TakeError(const v1::ExecuteStreamResponse& header);
  // Takes what a message that follows the first one has beside bytes.
  absl::Status Continue(const v1::ExecuteStreamResponse& header);
  absl::Status AddPiece(const v1::ExecuteStreamResponse& header, const ResponseMessage& message);
  // Memory for the result, of bytes_ bytes.
  void TakeBuffer(HostBufferPool* buffers);

  const bool is_sequence_;
  bool has_begun_ = false;
  bool is_in_runs_ = false;
  // Whether the server has told an error, after which nothing comes.
  bool has_failed_ = false;
  // Whether the response has come.
  bool has_response_ = false;
  absl::Status error_;
  ExecutionInfo info_;
  TensorSpec spec_;
  std::shared_ptr<const HostBuffer> buffer_;  // none: what comes is dropped
  uint64_t bytes_ = 0;
  uint64_t received_ = 0;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_STREAM_ANSWER_ASSEMBLY_H_
