#include "client/rpc/missing_answer.h"

namespace opserve::client_internal {

bool LacksAnswer(const grpc::Status& status, const grpc::ByteBuffer& received) {
  if (received.Valid()) return false;
  // A server that has no such method answers with another text.
  return status.ok() || (status.error_code() == grpc::StatusCode::UNIMPLEMENTED &&
                         status.error_message() == "No message returned for unary request");
}

absl::Status MissingAnswer(std::chrono::system_clock::time_point deadline,
                           std::chrono::system_clock::time_point now, bool is_cancelled) {
  if (is_cancelled) return absl::CancelledError("CANCELLED");
  if (now >= deadline) return absl::DeadlineExceededError("Deadline Exceeded");
  return absl::InternalError("the server ended the call as a success, but sent no answer");
}

}  // namespace opserve::client_internal
