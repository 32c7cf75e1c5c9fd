#include "server/service.h"

#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "kernels/utf8.h"
#include "opserve/v1/operator_service.grpc.pb.h"
#include "server/catalogue.h"
#include "server/errors.h"
#include "server/rate_limiter.h"
#include "server/rpc_status.h"
#include "server/wire.h"

namespace opserve {
namespace {

using std::chrono::seconds;

// What the calls of one service share.
struct Shared {
  explicit Shared(const ServiceParts& service_parts)
      : parts(service_parts),
        started(parts.clock.Now()),
        device_name(parts.device.profile().name),
        refusals(parts.clock, seconds(1)) {}

  const ServiceParts parts;
  const Clock::TimePoint started;
  const std::string device_name;
  RateLimiter refusals;
};

// gRPC tells deadlines in calendar time; all else here is monotonic.
Clock::TimePoint DeadlineOf(const grpc::CallbackServerContext& context, const Clock& clock) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return Clock::kNever;
  const Clock::TimePoint now = clock.Now();
  const Clock::Duration left = deadline - std::chrono::system_clock::now();
  return left < Clock::kNever - now ? now + left : Clock::kNever;
}

// Reads a message. The bytes are released, so that a request is not held twice.
absl::Status Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  // The buffer belongs to the call and nobody else reads it; gRPC only lends it as const.
  auto* const buffer = const_cast<grpc::ByteBuffer*>(&bytes);
  if (grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::Message>(buffer, &message)
          .ok()) {
    return absl::OkStatus();
  }
  const Violation violation = {"", absl::StrCat("The bytes of the request are no message of type ",
                                                message.GetTypeName(), ".")};
  return MakeViolationError({&violation, 1}, "");
}

grpc::Status Serialize(const google::protobuf::Message& message, grpc::ByteBuffer& bytes) {
  bool owned = false;
  return grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(message, &bytes,
                                                                                    &owned);
}

// One call of Execute. gRPC owns it from its creation until OnDone, which comes after the one call
// of Finish; until then `response` stays where it is.
class ExecuteCall final : public grpc::ServerUnaryReactor, public Work {
 public:
  ExecuteCall(Shared& shared, grpc::ByteBuffer& response) : shared_(shared), response_(response) {}

  // Queues the call, or answers it at once.
  void Start(const grpc::CallbackServerContext& context, const grpc::ByteBuffer& request) {
    absl::Status status = Parse(request, request_);
    if (status.ok()) status = Accept(DeadlineOf(context, shared_.parts.clock));
    if (!status.ok()) Refuse(status);
  }

  void Run(Clock::Duration queued) override {
    const ServiceParts& parts = shared_.parts;
    v1::ExecuteResponse response;
    std::byte* output = nullptr;
    try {
      output = AllocateOutput(*invocation_, response);
    } catch (const std::bad_alloc&) {
      Refuse(MakeRetryableError(ErrorReason::OUT_OF_MEMORY,
                                "There is not enough memory for the result.", seconds(1)));
      return;
    }
    const DeviceCall call = {invocation_.get(), InputsOf(request_, *invocation_), output};
    const Clock::TimePoint start = parts.clock.Now();
    if (absl::Status status = parts.device.Run({&call, 1}); !status.ok()) {
      Refuse(status);
      return;
    }
    RunRecord record;
    record.device = shared_.device_name;
    record.queued = queued;
    record.ran = parts.clock.Now() - start;
    WriteResponseHeader(request_, *invocation_, record, response);
    LogAnswer(record);
    Finish(Serialize(response, response_));
  }

  void Drop(const absl::Status& why) override { Refuse(why); }

  // Called after Start has returned, and never once the call is done.
  void OnCancel() override {
    if (ticket_) shared_.parts.queue.Cancel(*ticket_);
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Accept(Clock::TimePoint deadline) {
    const ServiceParts& parts = shared_.parts;
    auto invocation = parts.validator.Validate(HeaderOf(request_));
    if (!invocation.ok()) return invocation.status();
    invocation_ = *std::move(invocation);

    uint64_t bytes = invocation_->output_bytes;
    for (const std::string& payload : request_.payloads()) bytes += payload.size();
    auto permit = parts.admission.Admit(bytes);
    if (!permit.ok()) return permit.status();
    permit_ = *std::move(permit);

    // From here on a worker may answer at any time; this object lives until Start has returned.
    ticket_ = parts.queue.Enqueue(*this, deadline);
    return ticket_ ? absl::OkStatus() : DrainingError();
  }

  void Refuse(const absl::Status& status) {
    LogRefusal(status);
    Finish(ToGrpcStatus(status));
  }

  void LogAnswer(const RunRecord& record) {
    Logger& logger = shared_.parts.logger;
    if (!logger.enabled(LogLevel::kDebug)) return;
    logger.Log(LogLevel::kDebug, "request answered",
               {{"id", request_.request_id()},
                {"operator", request_.operator_()},
                {"output_bytes", invocation_->output_bytes},
                {"queued_ns", record.queued.count()},
                {"run_ns", record.ran.count()},
                {"device", record.device}});
  }

  void LogRefusal(const absl::Status& status) {
    Logger& logger = shared_.parts.logger;
    if (!logger.enabled(LogLevel::kInfo)) return;
    const std::optional<uint64_t> held_back = shared_.refusals.Pass();
    if (!held_back) return;
    logger.Log(LogLevel::kInfo, "request refused",
               {{"id", TruncateUtf8(request_.request_id(), kMaxRequestIdBytes)},
                {"operator", TruncateUtf8(request_.operator_(), 64)},
                {"code", absl::StatusCodeToString(status.code())},
                {"message", status.message()},
                {"not_logged", *held_back}});
  }

  Shared& shared_;
  grpc::ByteBuffer& response_;
  v1::ExecuteRequest request_;
  std::shared_ptr<const Invocation> invocation_;
  Admission::Permit permit_;
  std::optional<WorkQueue::Ticket> ticket_;
};

// All methods take raw bytes: what is no message at all is then answered here, with details, and
// not by gRPC.
using Rpc = v1::OperatorService;
using RawService = Rpc::WithRawCallbackMethod_Execute<Rpc::WithRawCallbackMethod_ListOperators<
    Rpc::WithRawCallbackMethod_GetServerInfo<Rpc::Service>>>;

class OperatorService final : public RawService {
 public:
  explicit OperatorService(const ServiceParts& parts) : shared_(parts) {}

  grpc::ServerUnaryReactor* Execute(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override {
    auto* call = new ExecuteCall(shared_, *response);
    call->Start(*context, *request);
    return call;
  }

  grpc::ServerUnaryReactor* ListOperators(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
    v1::ListOperatorsRequest parsed;
    v1::ListOperatorsResponse answer;
    absl::Status status = Parse(*request, parsed);
    if (status.ok()) status = opserve::ListOperators(parsed, answer);
    return Answer(*context, status, answer, *response);
  }

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override {
    v1::GetServerInfoRequest parsed;
    v1::GetServerInfoResponse answer;
    const absl::Status status = Parse(*request, parsed);
    if (status.ok()) WriteServerInfo(answer);
    return Answer(*context, status, answer, *response);
  }

 private:
  // Answers a call that needs no worker.
  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context,
                                          const absl::Status& status,
                                          const google::protobuf::Message& answer,
                                          grpc::ByteBuffer& response) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish(status.ok() ? Serialize(answer, response) : ToGrpcStatus(status));
    return reactor;
  }

  void WriteServerInfo(v1::GetServerInfoResponse& info) const {
    const ServiceParts& parts = shared_.parts;
    info.set_version(OPSERVE_VERSION);
    info.set_feature_level(NameOf(kHighestFeatureLevel));
    v1::DeviceInfo& device = *info.add_devices();
    device.set_name(shared_.device_name);
    device.set_description(parts.device.profile().description);
    device.set_threads(static_cast<uint32_t>(parts.device.profile().threads));
    v1::LimitsInfo& limits = *info.mutable_limits();
    limits.set_max_dimension_count(kMaxDimensionCount);
    limits.set_max_elements(parts.options.validation.max_elements);
    limits.set_max_tensor_bytes(parts.options.validation.max_tensor_bytes);
    limits.set_max_request_id_bytes(kMaxRequestIdBytes);
    limits.set_max_message_bytes(parts.options.max_message_bytes);
    limits.set_max_concurrent_requests(static_cast<uint32_t>(parts.options.admission.max_requests));
    limits.set_max_queued_bytes(parts.options.admission.max_bytes);
    const auto uptime = std::chrono::duration_cast<seconds>(parts.clock.Now() - shared_.started);
    info.set_uptime_s(static_cast<uint64_t>(uptime.count()));
  }

  Shared shared_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeOperatorService(const ServiceParts& parts) {
  return std::make_unique<OperatorService>(parts);
}

}  // namespace opserve
