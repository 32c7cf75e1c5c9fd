// File: server/edge/message_front.h
//
// The bytes that a call of recvmsg or sendmsg has moved.

#ifndef OPSERVE_SERVER_EDGE_MESSAGE_FRONT_H_
#define OPSERVE_SERVER_EDGE_MESSAGE_FRONT_H_

#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"

namespace opserve {

// Gives out the first `bytes` bytes of a message, piece by piece, in their order. The message must
// outlive it. Not thread-safe.
class MessageFront {
 public:
  MessageFront(const msghdr& message, size_t bytes) : message_(message), left_(bytes) {}

  // The next piece; empty where there is none.
  absl::Span<char> Next() {
    while (left_ > 0 && next_ < message_.msg_iovlen) {
      const iovec& part = message_.msg_iov[next_++];
      const size_t count = std::min(part.iov_len, left_);
      left_ -= count;
      if (count > 0) return {static_cast<char*>(part.iov_base), count};
    }
    return {};
  }

 private:
  const msghdr& message_;
  size_t left_;
  size_t next_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_EDGE_MESSAGE_FRONT_H_
