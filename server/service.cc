#include "server/service.h"

#include <chrono>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "kernels/utf8.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "server/catalogue.h"
#include "server/device_messages.h"
#include "server/errors.h"
#include "server/execute_call.h"
#include "server/host_buffers.h"
#include "server/message_bytes.h"
#include "server/rate_limiter.h"
#include "server/rpc_status.h"
#include "server/single_task.h"
#include "server/wire.h"

namespace opserve {
namespace {

using std::chrono::seconds;

absl::Status SelfTestRunningError() {
  return MakeRetryableError(ErrorReason::SELF_TEST_RUNNING, "Another self-test is running.",
                            seconds(1));
}

// Answers a call that needs no queue.
void Answer(grpc::ServerUnaryReactor& reactor, const absl::Status& status,
            const google::protobuf::Message& answer, grpc::ByteBuffer& response) {
  reactor.Finish(status.ok() ? SerializeMessage(answer, response) : ToGrpcStatus(status));
}

// All methods take raw bytes: what is no message at all is then answered here, with details, and
// not by gRPC.
using Rpc = v1::OperatorService;
using RawService = Rpc::WithRawCallbackMethod_Execute<
    Rpc::WithRawCallbackMethod_ListOperators<Rpc::WithRawCallbackMethod_GetServerInfo<
        Rpc::WithRawCallbackMethod_SelfTestDevices<Rpc::Service>>>>;

class OperatorService final : public RawService {
 public:
  explicit OperatorService(const ServiceParts& parts)
      : parts_(parts),
        started_(parts.clock.Now()),
        refusals_(parts.clock, seconds(1)),
        buffers_(parts.options.idle_buffer_bytes),
        execute_parts_{parts.clock,  parts.pool,    parts.validator, parts.admission,
                       parts.logger, parts.options, refusals_,       buffers_} {}

  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override {
    return StartExecute(execute_parts_, *context, *request, *response);
  }

  grpc::ServerUnaryReactor* ListOperators(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
    v1::ListOperatorsRequest parsed;
    v1::ListOperatorsResponse answer;
    absl::Status status = ParseMessage(*request, parsed);
    if (status.ok()) status = opserve::ListOperators(parsed, answer);
    if (status.ok()) AddOperatorDevices(parts_.pool, answer);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    Answer(*reactor, status, answer, *response);
    return reactor;
  }

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
    v1::GetServerInfoRequest parsed;
    v1::GetServerInfoResponse answer;
    const absl::Status status = ParseMessage(*request, parsed);
    if (status.ok()) WriteServerInfo(answer);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    Answer(*reactor, status, answer, *response);
    return reactor;
  }

  grpc::ServerUnaryReactor* SelfTestDevices(grpc::CallbackServerContext* context,
                                            const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) override {
    v1::SelfTestDevicesRequest parsed;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (absl::Status status = ParseMessage(*request, parsed); !status.ok()) {
      reactor->Finish(ToGrpcStatus(status));
      return reactor;
    }
    const bool is_started = self_test_.Start([this, reactor, response, name = parsed.device()] {
      v1::SelfTestDevicesResponse answer;
      const absl::Status status = SelfTest(name, answer);
      return [reactor, response, status, answer = std::move(answer)] {
        Answer(*reactor, status, answer, *response);
      };
    });
    if (!is_started) reactor->Finish(ToGrpcStatus(SelfTestRunningError()));
    return reactor;
  }

 private:
  absl::Status SelfTest(const std::string& device, v1::SelfTestDevicesResponse& answer) {
    const auto results = parts_.pool.SelfTest(device);
    if (absl::IsNotFound(results.status())) {
      return MakeError(ErrorReason::DEVICE_NOT_FOUND, results.status().message(),
                       {{"device", TruncateUtf8(device, kMaxRequestIdBytes)}});
    }
    if (!results.ok()) return SelfTestRunningError();
    for (const SelfTestResult& result : *results) AddSelfTest(result, answer);
    return absl::OkStatus();
  }

  void WriteServerInfo(v1::GetServerInfoResponse& info) const {
    info.set_version(OPSERVE_VERSION);
    info.set_feature_level(NameOf(kHighestFeatureLevel));
    for (const DeviceStatus& device : parts_.pool.Status()) AddDevice(device, info);
    const ServerOptions& options = parts_.options;
    v1::LimitsInfo& limits = *info.mutable_limits();
    limits.set_max_dimension_count(kMaxDimensionCount);
    limits.set_max_elements(options.validation.max_elements);
    limits.set_max_tensor_bytes(options.validation.max_tensor_bytes);
    limits.set_max_request_id_bytes(kMaxRequestIdBytes);
    limits.set_max_message_bytes(options.max_message_bytes);
    limits.set_max_concurrent_requests(static_cast<uint32_t>(options.admission.max_requests));
    limits.set_max_queued_bytes(options.admission.max_bytes);
    limits.set_max_batch_requests(static_cast<uint32_t>(options.pool.batch.max_requests));
    limits.set_max_batch_bytes(options.pool.batch.max_bytes);
    const auto uptime = std::chrono::duration_cast<seconds>(parts_.clock.Now() - started_);
    info.set_uptime_s(static_cast<uint64_t>(uptime.count()));
  }

  const ServiceParts parts_;
  const Clock::TimePoint started_;
  RateLimiter refusals_;
  HostBufferPool buffers_;
  const ExecuteParts execute_parts_;
  SingleTask self_test_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperatorService(const ServiceParts& parts) {
  return std::make_unique<OperatorService>(parts);
}

}  // namespace opserve
