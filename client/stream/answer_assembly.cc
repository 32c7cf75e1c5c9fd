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
  if (is_sequence_ ? static_cast<size_t>(sequence.outputs_size()) != results_.size()
                   : header.has_sequence()) {
    return Contradiction(header.id(), "it does not have the outputs that were asked for");
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    const v1::TensorDesc& output =
        is_sequence_ ? sequence.outputs(static_cast<int>(i)) : header.response().output();
    absl::StatusOr<TensorSpec> spec = DecodeOutputSpec(output, results_[i].bytes);
    if (!spec.ok()) return spec.status();
    results_[i].spec = *std::move(spec);
  }
  has_response_ = true;
  info_ = DecodeExecution(is_sequence_ ? sequence.execution() : header.response().execution());
  return absl::OkStatus();
}

absl::Status AnswerAssembly::Begin(const v1::ExecuteStreamResponse& header,
                                   HostBufferPool* buffers) {
  has_begun_ = true;
  if (!header.error().empty()) return TakeError(header);
  if (!HasResponse(header)) return Contradiction(header.id(), "it begins without a response");
  if (absl::Status status = TakeLengths(header, buffers); !status.ok()) return status;
  return TakeResponse(header);
}

absl::Status AnswerAssembly::TakeLengths(const v1::ExecuteStreamResponse& header,
                                         HostBufferPool* buffers) {
  const auto count = static_cast<size_t>(header.each_payload_bytes_size());
  if (count == 0 && results_.size() == 1) {
    results_[0].bytes = header.payload_bytes();
  } else if (count == results_.size()) {
    for (size_t i = 0; i < count; ++i) {
      results_[i].bytes = header.each_payload_bytes(static_cast<int>(i));
    }
  } else {
    return Contradiction(
        header.id(), absl::StrCat("it does not have the lengths of ", results_.size(), " outputs"));
  }
  if (buffers == nullptr) return absl::OkStatus();
  for (Result& result : results_) {
    auto buffer = TakeResultBuffer(*buffers, result.bytes);
    // That is the end of this request, not of the stream.
    if (!buffer.ok()) {
      error_ = buffer.status();
    } else {
      result.buffer = *std::move(buffer);
    }
  }
  return absl::OkStatus();
}

absl::Status AnswerAssembly::BeginRuns(const v1::ExecuteStreamResponse& header,
                                       HostBufferPool* buffers) {
  if (HasResponse(header)) return Contradiction(header.id(), "a response beside the terms");
  has_begun_ = true;
  is_in_runs_ = true;
  return TakeLengths(header, buffers);
}

absl::Status AnswerAssembly::Continue(const v1::ExecuteStreamResponse& header) {
  const bool is_error = !header.error().empty();
  if (!is_error && !HasResponse(header)) return absl::OkStatus();
  if (!is_in_runs_) return Contradiction(header.id(), "it begins twice");
  return is_error ? TakeError(header) : TakeResponse(header);
}

bool AnswerAssembly::is_complete() const {
  if (!has_begun_) return false;
  return has_failed_ || (missing_bytes() == 0 && has_response_);
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
                         absl::StrCat("it ends where ", missing_bytes(), " bytes are missing"));
  }
  return status;
}

uint64_t AnswerAssembly::missing_bytes() const {
  uint64_t missing = 0;
  for (const Result& result : results_) missing += result.bytes - result.received;
  return missing;
}

absl::Status AnswerAssembly::AddPiece(const v1::ExecuteStreamResponse& header,
                                      const ResponseMessage& message) {
  // A field that is not repeated has the last value that was sent.
  const size_t piece = message.payload_count() - 1;
  const uint64_t piece_bytes = message.payload_bytes(piece);
  if (header.payload_number() >= results_.size()) {
    return Contradiction(header.id(), absl::StrCat("a piece of payload ", header.payload_number(),
                                                   ", where there are ", results_.size()));
  }
  Result& result = results_[header.payload_number()];
  const uint64_t missing = result.bytes - result.received;
  if (piece_bytes > missing) {
    return Contradiction(header.id(), absl::StrCat("a piece of ", piece_bytes, " bytes, where ",
                                                   missing, " are missing"));
  }
  if (result.buffer != nullptr) {
    message.CopyPayload(piece, result.buffer->data() + result.received);
  }
  result.received += piece_bytes;
  return absl::OkStatus();
}

absl::StatusOr<StreamResults> AnswerAssembly::TakeResults() {
  if (!error_.ok()) return error_;
  StreamResults tensors;
  for (Result& result : results_) {
    const std::byte* const data = result.buffer->data();
    absl::StatusOr<Tensor> tensor =
        Tensor::FromShared(std::move(result.spec), {data, result.bytes}, std::move(result.buffer));
    if (!tensor.ok()) return tensor.status();
    tensors.push_back(*std::move(tensor));
  }
  return tensors;
}

}  // namespace opserve::client_internal
