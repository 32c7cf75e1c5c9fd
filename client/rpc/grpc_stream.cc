#include "client/rpc/grpc_stream.h"

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/async_stream.h>

#include <string>
#include <utility>
#include <vector>

#include "client/rpc/connection_errors.h"
#include "client/rpc/force_release.h"
#include "client/rpc/route.h"
#include "proto/base/mutex.h"
#include "proto/transport/completion_tag.h"
#include "proto/transport/shared_write.h"

namespace opserve::client_internal {
namespace {

using grpc::internal::RpcMethod;
using ReaderWriter = grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// All its events come from the thread of a poller. It is over once messages have ended, its status
// has come, and none of its operations is under way.
class GrpcStream final : public RawStream {
 public:
  GrpcStream(const char* method, absl::Duration timeout,
             std::unique_ptr<grpc::ClientContext> context, Hosts& hosts, std::string host,
             const ClientConnection& connection, Watchdog& watchdog)
      : method_(method),
        hosts_(hosts),
        host_(std::move(host)),
        watchdog_(watchdog),
        connection_(connection),
        context_(std::move(context)) {
    Watch(timeout + kGrace);
  }

  void Start(std::shared_ptr<Observer> observer) override {
    {
      const MutexLock lock(mutex_);
      observer_ = std::move(observer);
      stream_.reset(
          grpc::internal::ClientAsyncReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::
              Create(connection_.channel.get(), connection_.poller->queue(),
                     RpcMethod(method_, RpcMethod::BIDI_STREAMING), context_.get(),
                     /*start=*/false, /*tag=*/nullptr));
      under_way_ = 2;
    }
    connection_.poller->Begin();
    stream_->StartCall(Tag(started_));
    stream_->Read(&received_, Tag(read_));
  }

  void Write(grpc::ByteBuffer message, bool is_followed) override {
    if (!Begins(Next::kMessage, &message)) return;
    stream_->Write(message, shared_write_.OptionsFor(message, is_followed), Tag(written_));
  }

  void WritesDone() override {
    if (!Begins(Next::kEnd, nullptr)) return;
    stream_->WritesDone(Tag(writes_done_));
  }

  void Cancel() override {
    const MutexLock lock(mutex_);
    if (context_ == nullptr) return;
    context_->TryCancel();
    Watch(kGrace);
  }

  void Judge(const absl::Status& refusal) override {
    if (host_.empty()) return;
    // The stream stays where it is, so nobody asks where the next attempt would go.
    Route route = {.host = connection_.host};
    hosts_.Judge(refusal, host_, route);
  }

  void Reclaim(std::shared_ptr<PayloadHold> hold) override {
    ForceReleaseLater(watchdog_, hold, connection_);
  }

 private:
  // What is to be sent once the call has started.
  enum class Next { kNothing, kMessage, kEnd };

  static void* Tag(CompletionTag& tag) { return &tag; }

  // gRPC ends no call while it waits for the socket to take what it is writing. Shutting the
  // connection down ends that.
  void Watch(absl::Duration delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    watches_.push_back(
        watchdog_.RunAfter(delay, [&connection = connection_] { connection.sockets->ShutDown(); }));
  }

  // Whether the operation may begin now. Else it does when the call has started, and the message is
  // kept until then.
  bool Begins(Next next, grpc::ByteBuffer* message) {
    const MutexLock lock(mutex_);
    if (is_started_) {
      ++under_way_;
      return true;
    }
    next_ = next;
    if (message != nullptr) first_.Swap(message);
    return false;
  }

  void OnStarted(bool ok) {
    Next next = Next::kNothing;
    grpc::ByteBuffer first;
    {
      const MutexLock lock(mutex_);
      // Else nothing can be written any more, and messages end.
      is_started_ = ok;
      if (ok) std::swap(next, next_);
      first.Swap(&first_);
    }
    if (next == Next::kMessage) Write(first, /*is_followed=*/false);
    if (next == Next::kEnd) WritesDone();
    EndOperation();
  }

  // An observer may give its last share up, but not before the end.
  Observer& TheObserver() {
    const MutexLock lock(mutex_);
    return *observer_;
  }

  void OnRead(bool ok) {
    Observer& observer = TheObserver();
    if (ok) {
      observer.OnMessage(received_);
      return stream_->Read(&received_, Tag(read_));
    }
    observer.OnMessagesEnd();
    // The status is an operation in place of the message.
    stream_->Finish(&status_, Tag(finished_));
  }

  void OnWritten(bool ok) {
    if (ok) TheObserver().OnWritten();
    EndOperation();
  }

  void OnOther(bool /*ok*/) { EndOperation(); }

  // Until the end one waits for a message or for the status, so that is when the last one ends.
  void EndOperation() {
    std::shared_ptr<Observer> observer;
    grpc::ByteBuffer unsent;
    {
      const MutexLock lock(mutex_);
      if (--under_way_ > 0) return;
      unsent.Swap(&first_);
      observer = std::move(observer_);
      for (const Watchdog::Key& watch : watches_) watchdog_.Cancel(watch);
      stream_.reset();
      // It has a share of the channel. Were that the last one, because the caller gives the client
      // up as soon as the stream is over, gRPC would join the thread that this runs in.
      context_.reset();
    }
    unsent.Clear();
    connection_.poller->End();
    const absl::Status outcome = ErrorOf(status_, connection_);
    if (!outcome.ok()) connection_.watch->OnFailure();
    hosts_.End(connection_);
    observer->OnEnd(outcome);
  }

  const char* const method_;
  Hosts& hosts_;
  const std::string host_;  // that it is for; empty: any
  Watchdog& watchdog_;
  const ClientConnection& connection_;
  MemberTag<GrpcStream, &GrpcStream::OnStarted> started_{*this};
  MemberTag<GrpcStream, &GrpcStream::OnRead> read_{*this};
  MemberTag<GrpcStream, &GrpcStream::OnWritten> written_{*this};
  MemberTag<GrpcStream, &GrpcStream::OnOther> writes_done_{*this};
  MemberTag<GrpcStream, &GrpcStream::OnOther> finished_{*this};
  SharedWrite shared_write_;  // for whoever writes
  grpc::ByteBuffer received_;
  grpc::Status status_;
  // From Start to the end, in memory of the context. Not guarded: gRPC's operations may run what
  // waits for memory that they give back.
  std::unique_ptr<ReaderWriter> stream_;
  Mutex mutex_;
  grpc::ByteBuffer first_ ABSL_GUARDED_BY(mutex_);
  Next next_ ABSL_GUARDED_BY(mutex_) = Next::kNothing;
  bool is_started_ ABSL_GUARDED_BY(mutex_) = false;
  // Operations.
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);  // until the end
  std::shared_ptr<Observer> observer_ ABSL_GUARDED_BY(mutex_);            // from Start to the end
  std::vector<Watchdog::Key> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<RawStream> MakeGrpcStream(const char* method, absl::Duration timeout,
                                          std::unique_ptr<grpc::ClientContext> context,
                                          Hosts& hosts, std::string host,
                                          const ClientConnection& connection, Watchdog& watchdog) {
  return std::make_unique<GrpcStream>(method, timeout, std::move(context), hosts, std::move(host),
                                      connection, watchdog);
}

}  // namespace opserve::client_internal
