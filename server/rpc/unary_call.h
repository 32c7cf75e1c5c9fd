// File: server/rpc/unary_call.h
//
// A call of a unary method: bytes in, bytes or an error out.

#ifndef OPSERVE_SERVER_RPC_UNARY_CALL_H_
#define OPSERVE_SERVER_RPC_UNARY_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/support/async_stream.h"
#include "proto/transport/completion_tag.h"
#include "server/base/clock.h"
#include "server/record/request_record.h"
#include "server/rpc/polled_call.h"
#include "server/rpc/poller.h"
#include "server/rpc/rpc_service.h"

namespace opserve {

// Works on a call, and is kept with it. Destroyed in the thread of the poller, once the call is
// over: its answer has been sent, or cannot be.
class CallHandler {
 public:
  virtual ~CallHandler() = default;

  // The client has gone, gave the call up, or its deadline has passed. In the poller's thread,
  // once the method's function has returned; the call may be finished already, or just then. It is
  // to be finished all the same, so where that is soon there is nothing to do here.
  virtual void OnCancel() {}
};

// Lives until it is finished and over, whichever comes last, and then deletes itself. Finish is to
// be called once, on any thread; all else belongs to the handler.
class UnaryCall final : private PolledCall {
 public:
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;

  // The request, which is the handler's to take.
  grpc::ByteBuffer& request() { return request_; }

  // Who calls, as it was when the call began.
  const Caller& caller() const { return caller_; }

  // When it must be done, by SteadyClock(); kNever if it has no deadline.
  Clock::TimePoint deadline() const;

  // Makes a `Handler`, which is a CallHandler, of this call and `args`, and keeps it until the call
  // is over. At most once.
  template <class Handler, class... Args>
  Handler& Keep(Args&&... args) {
    auto handler = std::make_unique<Handler>(*this, std::forward<Args>(args)...);
    Handler& kept = *handler;
    handler_ = std::move(handler);
    return kept;
  }

  // Does `work`, which may throw: the call then fails with an error of its own, and everything else
  // goes on. Handlers run within it already; it is for what they do later, or in other threads.
  // Once `work` has finished the call, or given it away, it must not throw, except in the poller's
  // thread, where what it throws after it finished the call is logged.
  void Guard(absl::FunctionRef<void()> work) noexcept;

  // What is told of the call when it ends, for its handler to complete before it finishes the call;
  // nullptr: nobody wants to know.
  RequestRecord* record() { return method_.limits.observer == nullptr ? nullptr : &record_; }

  // Answers. Another thread may end the call meanwhile: nothing of it may be touched afterwards,
  // but by the handler until it returns.
  void Finish(const grpc::ByteBuffer& response);
  // The same with an error.
  void Finish(const absl::Status& status);
  // The same with `answer` where `status` is OK.
  void Finish(const absl::Status& status, const google::protobuf::Message& answer);

 private:
  friend class RpcService;

  UnaryCall(RpcService::Method& method, Poller& poller) : method_(method), poller_(poller) {}
  ~UnaryCall() override = default;

  // Waits for the next call of the method.
  static void Expect(RpcService::Method& method, Poller& poller);

  void OnTick() override;
  void OnStart(bool ok);
  void OnMessage(bool ok);
  // Waits for the next call in the place of this one, as soon as there is memory for it.
  void ExpectNext() noexcept;
  // OK where the caller may call the method, and there may be room for his message, which has not
  // been received.
  absl::Status AdmitCaller();
  // OK where there is room for the message.
  absl::Status AdmitMessage();
  void OnSend(bool ok);
  void OnFinished(bool ok);
  void OnOver(bool ok);
  void SendError(const absl::Status& status);
  void Send(const grpc::ByteBuffer& response);
  void Report(const absl::Status& status, uint64_t bytes_out) noexcept;
  void RemoveOne();
  // Ends the call if it is over.
  void LeaveIfOver();

  RpcService::Method& method_;
  Poller& poller_;
  MemberTag<UnaryCall, &UnaryCall::OnStart> start_{*this};
  MemberTag<UnaryCall, &UnaryCall::OnMessage> message_{*this};
  MemberTag<UnaryCall, &UnaryCall::OnSend> send_{*this};
  MemberTag<UnaryCall, &UnaryCall::OnFinished> finished_{*this};
  MemberTag<UnaryCall, &UnaryCall::OnOver> over_{*this};
  grpc::ServerContext context_;
  Caller caller_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncReader<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};
  // Where the method counts its calls.
  Admission::Permit permit_;
  std::unique_ptr<CallHandler> handler_;
  RequestRecord record_;
  // The response while it waits for the poller's thread.
  grpc::ByteBuffer response_;
  std::optional<grpc::Alarm> send_alarm_;
  HandOver hand_over_;
  StallWatch stall_watch_;
  // Length of the response; set before it is handed over.
  uint64_t response_bytes_ = 0;
  // How many of the two events that end a call are still to come.
  int missing_events_ = 2;
  // Nobody waits for the next call yet.
  bool lacks_successor_ = false;
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_RPC_UNARY_CALL_H_
