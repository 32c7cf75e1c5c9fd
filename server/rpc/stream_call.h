// File: server/rpc/stream_call.h
//
// A call of a streaming method: messages in and out, as bytes.

#ifndef OPSERVE_SERVER_RPC_STREAM_CALL_H_
#define OPSERVE_SERVER_RPC_STREAM_CALL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/support/async_stream.h"
#include "proto/base/mutex.h"
#include "proto/transport/completion_tag.h"
#include "proto/transport/shared_write.h"
#include "server/base/clock.h"
#include "server/record/request_record.h"
#include "server/rpc/polled_call.h"
#include "server/rpc/poller.h"
#include "server/rpc/rpc_service.h"

namespace opserve {

// Works on one stream. All functions are called in the poller's thread, one at a time, and must not
// block it; what they throw ends the stream with an error. Destroyed there once the stream is over
// and nobody holds it.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;

  // The message that Read asked for, which is the handler's to take.
  virtual void OnMessage(grpc::ByteBuffer& message) = 0;
  // Whether another message follows the one that is being sent, as soon as that has been taken.
  // Thread-safe; asked with locks of the call.
  virtual bool has_more_to_send() const { return false; }
  // Called in place of OnMessage: the client sends no more, or the stream is broken.
  virtual void OnMessagesEnd() = 0;
  // One more message of Write is on its way. Not called any more once the stream is broken.
  virtual void OnWritten() = 0;
  // Whether something that the client has begun to send is missing. A client that keeps a stream
  // waiting for too long loses it.
  virtual bool is_waiting() const { return false; }
  // Time has passed: called about four times within the limit for stalled clients.
  virtual void OnTick() {}
  // The stream is over: its Finish has been sent, or the client has gone, gave the call up, or its
  // deadline has passed. What is written from now on is dropped. Called once; a message that was
  // under way may still come.
  virtual void OnOver() = 0;
};

class StreamCall final : private PolledCall {
 public:
  StreamCall(const StreamCall&) = delete;
  StreamCall& operator=(const StreamCall&) = delete;

  // Who calls, as it was when the call began.
  const Caller& caller() const { return caller_; }
  // The metadata `traceparent`. Only in the poller's thread.
  std::string traceparent() const;
  // When it must be done, by SteadyClock(); kNever if it has no deadline.
  Clock::TimePoint deadline() const;

  // Asks for the next message. Not again before it came. Only in the poller's thread.
  void Read();

  // Sends a message after those before it. Thread-safe; never blocks: what the client does not read
  // is kept, so whoever writes much must count with OnWritten.
  void Write(grpc::ByteBuffer message);

  // Ends the stream once all messages are sent; what is written later is dropped. Thread-safe.
  void Finish(const absl::Status& status);

  // Does `work`, which may throw: the stream then ends with an error. For what a handler does in
  // other threads, while it holds the stream. Thread-safe.
  void Guard(absl::FunctionRef<void()> work) noexcept;

  // Keep stream and handler, also beyond the end, until as many Release as Hold. Thread-safe. The
  // first Hold must come before OnOver has returned; nothing of the stream may be touched after
  // Release.
  void Hold() { ++references_; }
  void Release();

 private:
  friend class RpcService;

  StreamCall(RpcService::Method& method, Poller& poller) : method_(method), poller_(poller) {}
  ~StreamCall() override = default;

  // Waits for the next call of the method.
  static void Expect(RpcService::Method& method, Poller& poller);

  void OnTick() override;
  bool GoesOnWith(const void* tag) const override;
  void OnPutOff() override;
  void OnStart(bool ok);
  // Waits for the next call in the place of this one, as soon as there is memory for it.
  void ExpectNext() noexcept;
  // OK where the caller may call the method, and there is room for the stream.
  absl::Status Admit();
  void OnRead(bool ok);
  void EndMessages();
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnOver(bool ok);
  void OnReleased(bool ok);

  // Whether the poller is to look first for messages whose answers may go along with this one.
  bool MayPutOff(const grpc::ByteBuffer& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends the next message, or the end, if it is time for it.
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An operation is done. Only in the poller's thread.
  void Unreference();
  // Tells of a stream that ends with an error.
  void ReportFailure(const absl::Status& status) noexcept;
  // Ends the call if nobody refers to it.
  void LeaveIfOver();

  RpcService::Method& method_;
  Poller& poller_;
  MemberTag<StreamCall, &StreamCall::OnStart> start_{*this};
  MemberTag<StreamCall, &StreamCall::OnRead> read_{*this};
  MemberTag<StreamCall, &StreamCall::OnWritten> written_{*this};
  MemberTag<StreamCall, &StreamCall::OnFinished> finished_{*this};
  MemberTag<StreamCall, &StreamCall::OnOver> over_{*this};
  MemberTag<StreamCall, &StreamCall::OnReleased> released_{*this};
  grpc::ServerContext context_;
  Caller caller_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  grpc::ByteBuffer incoming_;
  // Absent where it could not be made, or the stream was refused.
  std::unique_ptr<StreamHandler> handler_;
  Clock::TimePoint started_ = {};
  // Where the method counts its streams.
  Admission::Permit permit_;
  grpc::Alarm release_alarm_;
  StallWatch stall_watch_;
  // Messages that came or went.
  uint64_t progress_ = 0;
  // Operations under way, and holds. The first is the notice that the stream is over.
  std::atomic<int> references_ = 1;
  // Nobody waits for the next call yet.
  bool lacks_successor_ = false;

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> outbox_ ABSL_GUARDED_BY(mutex_);
  SharedWrite shared_write_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  // Somebody is about to set the end, and nobody else may.
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  // The client sends no more, or the stream is broken.
  bool messages_have_ended_ ABSL_GUARDED_BY(mutex_) = false;
  // An error with which the stream ends, and which is reported once it is over.
  absl::Status unreported_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // The poller has been told to send what there is.
  bool is_put_off_ ABSL_GUARDED_BY(mutex_) = false;
  // How many messages more are sent at once, because the last one that was put off went alone.
  int messages_at_once_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_STREAM_CALL_H_
