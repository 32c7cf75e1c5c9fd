// File: client/rpc/missing_answer.h
//
// Unary calls that gRPC ends without an answer and without an error. Stateless and safe to use from
// any thread.

#ifndef OPSERVE_CLIENT_RPC_MISSING_ANSWER_H_
#define OPSERVE_CLIENT_RPC_MISSING_ANSWER_H_

#include <chrono>

#include "absl/status/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"

namespace opserve::client_internal {

// Whether a call that ended with `status` should have an answer and has none: `received` is what
// gRPC left of it. gRPC calls that OK, or UNIMPLEMENTED with a text of its own.
bool LacksAnswer(const grpc::Status& status, const grpc::ByteBuffer& received);

// The status of such a call that ended at `now`. A server that says OK has sent an answer, but gRPC
// drops it where the call's deadline passes, or it is cancelled, after the server's status has come
// and before the answer was handed over.
absl::Status MissingAnswer(std::chrono::system_clock::time_point deadline,
                           std::chrono::system_clock::time_point now, bool is_cancelled);

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_MISSING_ANSWER_H_
