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

// Sets `error` to the one that `header` brings.
absl::Status DecodeError(const v1::ExecuteStreamResponse& header, absl::Status& error) {
  rpc::Status decoded;
  if (header.has_response() || !decoded.ParseFromString(header.error()) || decoded.code() == 0) {
    return Contradiction(header.id(), "an error that is none");
  }
  error = MakeStatus(decoded.code(), decoded.message(), header.error());
  return absl::OkStatus();
}

}  // namespace

absl::Status AnswerAssembly::Begin(const v1::ExecuteStreamResponse& header,
                                   HostBufferPool* buffers) {
  has_begun_ = true;
  if (!header.error().empty()) return DecodeError(header, error_);
  if (!header.has_response()) return Contradiction(header.id(), "it begins without a response");
  absl::StatusOr<TensorSpec> spec =
      DecodeOutputSpec(header.response().output(), header.payload_bytes());
  if (!spec.ok()) return spec.status();
  spec_ = *std::move(spec);
  bytes_ = header.payload_bytes();
  info_ = DecodeExecution(header.response().execution());
  if (buffers == nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<const HostBuffer>> buffer = TakeResultBuffer(*buffers, bytes_);
  // That is the end of this request, not of the stream.
  if (!buffer.ok()) {
    error_ = buffer.status();
  } else {
    buffer_ = *std::move(buffer);
  }
  return absl::OkStatus();
}

absl::Status AnswerAssembly::Add(const v1::ExecuteStreamResponse& header,
                                 const ResponseMessage& message, HostBufferPool* buffers) {
  if (!has_begun_) {
    if (absl::Status status = Begin(header, buffers); !status.ok()) return status;
  } else if (header.has_response() || !header.error().empty()) {
    return Contradiction(header.id(), "it begins twice");
  }
  if (message.payload_count() == 0) return absl::OkStatus();
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
