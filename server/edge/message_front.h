// File: server/edge/message_front.h
//
// The bytes that a call of recvmsg or sendmsg has moved.

#ifndef OPSERVE_SERVER_EDGE_MESSAGE_FRONT_H_
#define OPSERVE_SERVER_EDGE_MESSAGE_FRONT_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace opserve {

// Calls show(piece) for the pieces of the first `bytes` bytes of the message, in their order, until
// it returns false. Whether it never did.
template <class Show>
bool ForFront(const msghdr& message, size_t bytes, const Show& show) {
  for (size_t i = 0; i < message.msg_iovlen && bytes > 0; ++i) {
    const iovec& part = message.msg_iov[i];
    const size_t count = std::min(part.iov_len, bytes);
    if (!show(absl::string_view(static_cast<const char*>(part.iov_base), count))) return false;
    bytes -= count;
  }
  return true;
}

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_MESSAGE_FRONT_H_
