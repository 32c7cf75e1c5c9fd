// File: server/edge/close_reason.h
//
// Why the server does not take a connection, or ends it.

#ifndef OPSERVE_SERVER_EDGE_CLOSE_REASON_H_
#define OPSERVE_SERVER_EDGE_CLOSE_REASON_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace opserve {

enum class CloseReason : uint8_t {
  kNone,          // it was not the server's edge
  kTooMany,       // there are as many connections as there may be; it was never taken
  kTooManyOfOne,  // the client has as many as one may have; it was never taken
  kPenalty,       // the client's connections were ended for one of the next reasons; never taken
  kNotAccepted,   // the system refused what the connection needs; it was never taken
  kHandshake,     // it did not begin to speak HTTP/2 in time
  kHeaders,       // too large a block of headers
  kFrames,        // too many frames that bring no message
  kWaitingCalls,  // too many calls that have not sent their message
  kSilentCalls,   // calls that do not send their message for too long
  kMessage,       // a message that may not come and could not be refused otherwise
};

inline constexpr size_t kCloseReasonCount = static_cast<size_t>(CloseReason::kMessage) + 1;

// The reason as logs and counters name it. Lives for ever.
constexpr absl::string_view NameOf(CloseReason reason) {
  switch (reason) {
    case CloseReason::kNone:
      return "none";
    case CloseReason::kTooMany:
      return "too many connections";
    case CloseReason::kTooManyOfOne:
      return "too many connections of one client";
    case CloseReason::kPenalty:
      return "the client misbehaved before";
    case CloseReason::kNotAccepted:
      return "no memory or descriptors";
    case CloseReason::kHandshake:
      return "no handshake in time";
    case CloseReason::kHeaders:
      return "headers too large";
    case CloseReason::kFrames:
      return "too many frames without messages";
    case CloseReason::kWaitingCalls:
      return "too many calls without messages";
    case CloseReason::kSilentCalls:
      return "messages not sent in time";
    case CloseReason::kMessage:
      return "message too large";
  }
  return "unknown";
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_CLOSE_REASON_H_
