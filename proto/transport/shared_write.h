// File: proto/transport/shared_write.h
//
// Small messages of a stream that follow each other at once go to the socket together: for each of
// them, a write of its own costs more than all else.

#ifndef OPSERVE_PROTO_TRANSPORT_SHARED_WRITE_H_
#define OPSERVE_PROTO_TRANSPORT_SHARED_WRITE_H_

#include <cstddef>

#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"

namespace opserve {

// Decides which messages of one stream wait for the next one. Not thread-safe.
class SharedWrite {
 public:
  // Whether a message is so small that it may wait for the one after it.
  static bool MayWait(const grpc::ByteBuffer& message) { return message.Length() <= kMaxBytes; }

  // How the next message is written. `is_followed`: another one will be as soon as gRPC has taken
  // this one, unless the stream ends. Where that did not come, the message would never be sent.
  grpc::WriteOptions OptionsFor(const grpc::ByteBuffer& message, bool is_followed) {
    grpc::WriteOptions options;
    // With the first one goes the metadata of the stream, which gRPC takes only once it is sent.
    const bool waits = is_followed && !is_first_ && MayWait(message);
    is_first_ = false;
    if (waits && ++waiting_ < kMaxMessages) {
      options.set_buffer_hint();
    } else {
      waiting_ = 0;
    }
    return options;
  }

  // Whether messages wait for the next one.
  bool has_waiting() const { return waiting_ > 0; }

 private:
  static constexpr size_t kMaxBytes = 32 << 10;
  // The other side begins with the first ones before the last ones are made.
  static constexpr int kMaxMessages = 32;

  bool is_first_ = true;
  int waiting_ = 0;
};

}  // namespace opserve

#endif  // OPSERVE_PROTO_TRANSPORT_SHARED_WRITE_H_
