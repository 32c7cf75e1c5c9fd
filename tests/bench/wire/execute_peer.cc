// What the server does for a call of Execute, in the styles of gRPC that it does not use.

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "server/access/caller.h"
#include "server/admission/admission.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/rate_limiter.h"
#include "server/device/cpu/cpu_device.h"
#include "server/execute/execute_job.h"
#include "server/pool/device_pool.h"
#include "server/regions/region_table.h"
#include "server/resident/tensor_store.h"
#include "server/rpc/rpc_status.h"
#include "server/service/server_options.h"
#include "server/validate/request_validator.h"
#include "server/validate/sequence_validator.h"
#include "server/wire/wire_message.h"
#include "tests/bench/wire/peer.h"

namespace opserve::wire_bench {
namespace {

constexpr char kExecuteMethod[] = "/opserve.v1.OperatorService/Execute";

// What calls work with, as in a server with default options and no GPU.
class Handler {
 public:
  const ExecuteParts& parts() const { return parts_; }

 private:
  static PoolOptions PoolOptionsOf(const ServerOptions& options) {
    PoolOptions pool = options.pool;
    pool.inline_bytes = options.inline_bytes;
    pool.cpu_workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return pool;
  }

  const ServerOptions options_ = {};
  const Clock& clock_ = SteadyClock();
  Logger logger_{LogFormat::kText, LogLevel::kOff};
  RequestValidator validator_{options_.validation, options_.max_message_bytes,
                              options_.request_cache_entries, /*gpu_presence=*/nullptr};
  const SequenceValidator sequence_validator_{{options_.validation, options_.max_sequence_steps},
                                              options_.max_message_bytes,
                                              /*gpu_presence=*/nullptr};
  Admission admission_{options_.admission};
  DevicePool pool_{PoolOptionsOf(options_),
                   clock_,
                   logger_,
                   std::make_shared<CpuDevice>(options_.cpu_threads),
                   {},
                   [] {}};
  RateLimiter refusals_{clock_, std::chrono::seconds(1)};
  HostBufferPool buffers_{options_.idle_buffer_bytes};
  RegionTable regions_{options_.regions.limits};
  TensorStore tensors_{options_.tensors, clock_, buffers_};
  const ExecuteParts parts_{clock_, pool_,     validator_, sequence_validator_, admission_, logger_,
                            {},     refusals_, buffers_,   {regions_, tensors_}};
};

// A request from its bytes to the bytes of its answer. `Done` gets these, or an error, once.
template <class Done>
class Execution final : private ExecuteJob::Reply {
 public:
  Execution(const ExecuteParts& parts, Done done) : done_(std::move(done)), job_(parts, *this) {}

  void Start(grpc::ByteBuffer request) { job_.Start(request, {}); }

 private:
  const Caller& caller() const override { return caller_; }
  void Send(const v1::ExecuteResponse& header, std::span<OutgoingPayload> payloads) override {
    done_(grpc::Status::OK, ComposeMessage(header, payloads));
  }
  void Fail(const absl::Status& why) override { done_(ToGrpcStatus(why), {}); }

  const Caller caller_{"bench", "", FullGrant()};
  Done done_;
  ExecuteJob job_;
};

// A thread of gRPC waits for each answer.
class SyncService : public grpc::Service {
 public:
  SyncService() {
    AddMethod(RawSyncMethod(kExecuteMethod, *this,
                            [this](const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
                              return Execute(request, response);
                            }));
  }

 private:
  grpc::Status Execute(const grpc::ByteBuffer& request, grpc::ByteBuffer& response) {
    absl::Notification is_done;
    grpc::Status status;
    Execution execution(handler_.parts(),
                        [&](const grpc::Status& result, const grpc::ByteBuffer& bytes) {
                          status = result;
                          response = bytes;
                          is_done.Notify();
                        });
    execution.Start(request);
    is_done.WaitForNotification();
    return status;
  }

  Handler handler_;
};

// gRPC's callback API; calls start in threads of its executor.
class CallbackService
    : public v1::OperatorService::WithRawCallbackMethod_Execute<v1::OperatorService::Service> {
 private:
  class Reactor final : public grpc::ServerUnaryReactor {
   public:
    Reactor(const ExecuteParts& parts, grpc::ByteBuffer& response)
        : execution_(parts, Answer{*this, response}) {}

    void Start(const grpc::ByteBuffer& request) { execution_.Start(request); }
    void OnDone() override { delete this; }

   private:
    struct Answer {
      void operator()(const grpc::Status& status, const grpc::ByteBuffer& bytes) {
        response = bytes;
        reactor.Finish(status);
      }
      Reactor& reactor;
      grpc::ByteBuffer& response;
    };

    Execution<Answer> execution_;
  };

  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* /*context*/,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override {
    auto* const reactor = new Reactor(handler_.parts(), *response);
    reactor->Start(*request);
    return reactor;
  }

  Handler handler_;
};

}  // namespace

std::unique_ptr<Peer> MakeExecuteSyncPeer() { return std::make_unique<ServicePeer<SyncService>>(); }

std::unique_ptr<Peer> MakeExecuteCallbackPeer() {
  return std::make_unique<ServicePeer<CallbackService>>();
}

}  // namespace opserve::wire_bench
