#include "client/stream/answer_assembly.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/status_details.h"
#include "client/wire/result_buffer.h"
#include "client/wire/wire.h"
#include "opserve/rpc/status.pb.h"

namespace opserve::client_internal {
namespace {

absl::Status Contradiction(uint64_t id, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the server's answer to request ", id, " contradicts itself: ", what));
}

// Whether the message has the response.
bool HasResponse(const v1::ExecuteStreamResponse& header) {
  return header.has_response() || (header.has_sequence() && header.error().empty());
}

}  // namespace

absl::Status AnswerAssembly::TakeError(const v1::ExecuteStreamResponse& header) {
  rpc::Status decoded;
  if (header.has_response() || !decoded.ParseFromString(header.error()) || decoded.code() == 0) {
    return Contradiction(header.id(), "an error that is none");
  }
  has_failed_ = true;
  error_ = MakeStatus(decoded.code(), decoded.message(), header.error());
  // It found neither an operator nor what came beside it.
  if (is_sequence_ && !header.has_sequence() && absl::IsInvalidArgument(error_)) {
    error_ = absl::UnimplementedError(
        "this server runs no sequences on streams; Client::ExecuteSequence may run it");
  }
  return absl::OkStatus();
}

absl::Status AnswerAssembly::TakeResponse(const v1::ExecuteStreamResponse& header) {
  const v1::ExecuteSequenceResponse& sequence = header.sequence();
  if (is_sequence_ ? sequence.outputs_size() != 1 : header.has_sequence()) {
    return Contradiction(header.id(), "it does not have the one output that was asked for");
  }
  absl::StatusOr<TensorSpec> spec =
      DecodeOutputSpec(is_sequence_ ? sequence.outputs(0) : header.response().output(), bytes_);
  if (!spec.ok()) return spec.status();
  spec_ = *std::move(spec);
  has_response_ = true;
  info_ = DecodeExecution(is_sequence_ ? sequence.execution() : header.response().execution());
  return absl::OkStatus();
}

absl::Status AnswerAssembly::Begin(const v1::ExecuteStreamResponse& header,
                                   HostBufferPool* buffers) {
  has_begun_ = true;
  if (!header.error().empty()) return TakeError(header);
  if (!HasResponse(header)) return Contradiction(header.id(), "it begins without a response");
  bytes_ = header.payload_bytes();
  if (absl::Status status = TakeResponse(header); !status.ok()) return status;
  TakeBuffer(buffers);
  return absl::OkStatus();
}

void AnswerAssembly::TakeBuffer(HostBufferPool* buffers) {
  if (buffers == nullptr) return;
  absl::StatusOr<std::shared_ptr<const HostBuffer>> buffer = TakeResultBuffer(*buffers, bytes_);
  // That is the end of this request, not of the stream.
  if (!buffer.ok()) {
    error_ = buffer.status();
  } else {
    buffer_ = *std::move(buffer);
  }
}

absl::Status AnswerAssembly::BeginRuns(const v1::ExecuteStreamResponse& header,
                                       HostBufferPool* buffers) {
  if (HasResponse(header)) return Contradiction(header.id(), "a response beside the terms");
  has_begun_ = true;
  is_in_runs_ = true;
  bytes_ = header.payload_bytes();
  TakeBuffer(buffers);
  return absl::OkStatus();
}

absl::Status AnswerAssembly::Continue(const v1::ExecuteStreamResponse& header) {
  const bool is_error = !header.error().empty();
  if (!is_error && !HasResponse(header)) return absl::OkStatus();
  if (!is_in_runs_) return Contradiction(header.id(), "it begins twice");
  return is_error ? TakeError(header) : TakeResponse(header);
}

bool AnswerAssembly::is_complete() const {
  if (!has_begun_) return false;
  return has_failed_ || (received_ == bytes_ && has_response_);
}

absl::Status AnswerAssembly::Add(const v1::ExecuteStreamResponse& header,
                                 const ResponseMessage& message, HostBufferPool* buffers) {
  absl::Status status;
  if (has_begun_) {
    status = Continue(header);
  } else if (header.pipeline().run_bytes_size() > 0) {
    status = BeginRuns(header, buffers);
  } else {
    status = Begin(header, buffers);
  }
  if (status.ok() && message.payload_count() > 0) status = AddPiece(header, message);
  if (status.ok() && is_in_runs_ && has_response_ && !is_complete()) {
    return Contradiction(header.id(),
                         absl::StrCat("it ends where ", bytes_ - received_, " bytes are missing"));
  }
  return status;
}

absl::Status AnswerAssembly::AddPiece(const v1::ExecuteStreamResponse& header,
                                      const ResponseMessage& message) {
  // A field that is not repeated has the last value that was sent.
  const size_t piece = message.payload_count() - 1;
  const uint64_t piece_bytes = message.payload_bytes(piece);
  if (piece_bytes > bytes_ - received_) {
    return Contradiction(header.id(), absl::StrCat("a piece of ", piece_bytes, " bytes, where ",
                                                   bytes_ - received_, " are missing"));
  }
  if (buffer_ != nullptr) message.CopyPayload(piece, buffer_->data() + received_);
  received_ += piece_bytes;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> AnswerAssembly::TakeResult() {
  if (!error_.ok()) return error_;
  const std::byte* const data = buffer_->data();
  return Tensor::FromShared(std::move(spec_), {data, bytes_}, std::move(buffer_));
}

}  // namespace opserve::client_internal
