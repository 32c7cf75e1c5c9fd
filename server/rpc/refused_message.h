// File: server/rpc/refused_message.h
//
// The errors of messages that the edge did not let come. Stateless and safe to use from any thread.

#ifndef OPSERVE_SERVER_RPC_REFUSED_MESSAGE_H_
#define OPSERVE_SERVER_RPC_REFUSED_MESSAGE_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/edge/message_note.h"

namespace opserve {

// What the edge put in the place of a message; nullopt where this is a message of the client.
std::optional<MessageNote> NoteIn(const grpc::ByteBuffer& message);

// The error of a call of `method`, such as "/opserve.v1.OperatorService/Execute", that got the
// note: REQUEST_TOO_LARGE, or TOO_MANY_BYTES with a RetryInfo.
absl::Status RefusedMessageError(absl::string_view method, const MessageNote& note);

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_REFUSED_MESSAGE_H_
