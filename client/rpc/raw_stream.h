// File: client/rpc/raw_stream.h
//
// One bidirectional stream of messages as bytes, whatever its method. The gRPC transport implements
// it; tests script their own.

#ifndef OPSERVE_CLIENT_RPC_RAW_STREAM_H_
#define OPSERVE_CLIENT_RPC_RAW_STREAM_H_

#include <memory>

#include "absl/status/status.h"
#include "client/wire/payload_hold.h"
#include "grpcpp/support/byte_buffer.h"

namespace opserve::client_internal {

// Thread-safe. Lives at least until OnEnd has been called; that may destroy it.
class RawStream {
 public:
  // Called on threads of the transport, from Start on; OnWritten perhaps while another function is.
  class Observer {
   public:
    virtual ~Observer() = default;
    // The next message, which is the observer's to take.
    virtual void OnMessage(grpc::ByteBuffer& message) = 0;
    // The next message may be written. Not called any more once the stream is broken.
    virtual void OnWritten() = 0;
    // No more messages come. Nothing may be written once this has returned.
    virtual void OnMessagesEnd() = 0;
    // The stream is over: called once, last.
    virtual void OnEnd(const absl::Status& status) = 0;
  };

  virtual ~RawStream() = default;

  // Begins the stream. To be called once, before all else. The observer is kept until OnEnd.
  virtual void Start(std::shared_ptr<Observer> observer) = 0;

  // Sends a message. Not again before OnWritten. `is_followed`: the next one is written then,
  // unless the stream ends; this one may wait for it.
  virtual void Write(grpc::ByteBuffer message, bool is_followed) = 0;

  // Tells the server that there will be no more messages. Not before OnWritten.
  virtual void WritesDone() = 0;

  // Ends the stream with CANCELLED unless it is over, also where the socket does not move.
  virtual void Cancel() = 0;

  // What a request was refused with, from which later streams learn where the host is. Not after
  // OnEnd.
  virtual void Judge(const absl::Status& refusal) = 0;

  // Sees to it that what the stream has sent from `hold` is given back, though the socket may not
  // move. Only within OnEnd.
  virtual void Reclaim(std::shared_ptr<PayloadHold> hold) = 0;
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_RPC_RAW_STREAM_H_
