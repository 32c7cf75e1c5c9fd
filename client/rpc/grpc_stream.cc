#include "client/rpc/grpc_stream.h"

#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/client_callback.h>

#include <utility>
#include <vector>

#include "client/rpc/connection_errors.h"
#include "client/rpc/force_release.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {
namespace {

using grpc::internal::RpcMethod;

// gRPC ends no reactor while one of its operations is under way, and one is until messages end.
class GrpcStream final : public RawStream,
                         private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  GrpcStream(const char* method, absl::Duration timeout,
             std::unique_ptr<grpc::ClientContext> context, Hosts& hosts,
             const ClientConnection& connection, Watchdog& watchdog)
      : method_(method),
        hosts_(hosts),
        watchdog_(watchdog),
        connection_(connection),
        context_(std::move(context)) {
    Watch(timeout + kGrace);
  }

  void Start(std::shared_ptr<Observer> observer) override {
    {
      const MutexLock lock(mutex_);
      observer_ = std::move(observer);
    }
    grpc::internal::ClientCallbackReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
        connection_.channel.get(), RpcMethod(method_, RpcMethod::BIDI_STREAMING), context(), this);
    StartRead(&received_);
    StartCall();
  }

  void Write(grpc::ByteBuffer message) override {
    sent_.Swap(&message);
    StartWrite(&sent_);
  }

  void WritesDone() override { StartWritesDone(); }

  void Cancel() override {
    const MutexLock lock(mutex_);
    if (context_ == nullptr) return;
    context_->TryCancel();
    Watch(kGrace);
  }

  void Reclaim(std::shared_ptr<PayloadHold> hold) override {
    ForceReleaseLater(watchdog_, hold, connection_);
  }

 private:
  grpc::ClientContext* context() {
    const MutexLock lock(mutex_);
    return context_.get();
  }

  // gRPC ends no call while it waits for the socket to take what it is writing. Shutting the
  // connection down ends that.
  void Watch(absl::Duration delay) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    watches_.push_back(
        watchdog_.RunAfter(delay, [&connection = connection_] { connection.sockets->ShutDown(); }));
  }

  // Until OnDone, which gRPC may run on another thread than the reactions before it.
  Observer& TheObserver() {
    const MutexLock lock(mutex_);
    return *observer_;
  }

  void OnReadDone(bool ok) override {
    Observer& observer = TheObserver();
    if (!ok) return observer.OnMessagesEnd();
    observer.OnMessage(received_);
    StartRead(&received_);
  }

  void OnWriteDone(bool ok) override {
    sent_.Clear();
    Observer& observer = TheObserver();
    if (ok) observer.OnWritten();
  }

  void OnDone(const grpc::Status& status) override {
    std::shared_ptr<Observer> observer;
    {
      const MutexLock lock(mutex_);
      observer = std::move(observer_);
      for (const Watchdog::Key& watch : watches_) watchdog_.Cancel(watch);
      // It has a share of the channel. Were that the last one, because the caller gives the client
      // up as soon as the stream is over, gRPC would join the thread that this runs in.
      context_.reset();
    }
    hosts_.End(connection_);
    observer->OnEnd(ErrorOf(status, connection_));
  }

  const char* const method_;
  Hosts& hosts_;
  Watchdog& watchdog_;
  const ClientConnection& connection_;
  grpc::ByteBuffer sent_;
  grpc::ByteBuffer received_;
  Mutex mutex_;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);  // until the end
  std::shared_ptr<Observer> observer_ ABSL_GUARDED_BY(mutex_);            // from Start to the end
  std::vector<Watchdog::Key> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<RawStream> MakeGrpcStream(const char* method, absl::Duration timeout,
                                          std::unique_ptr<grpc::ClientContext> context,
                                          Hosts& hosts, const ClientConnection& connection,
                                          Watchdog& watchdog) {
  return std::make_unique<GrpcStream>(method, timeout, std::move(context), hosts, connection,
                                      watchdog);
}

}  // namespace opserve::client_internal
