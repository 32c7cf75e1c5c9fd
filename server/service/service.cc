#include "server/service/service.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "kernels/utf8.h"
#include "server/errors/errors.h"
#include "server/execute/execute_stream.h"
#include "server/execute/unary_execute.h"
#include "server/lease/lease_calls.h"
#include "server/rpc/message_bytes.h"
#include "server/service/audited_answer.h"
#include "server/service/catalogue.h"
#include "server/service/device_messages.h"
#include "server/wire/wire.h"

namespace opserve {
namespace {

using std::chrono::seconds;

// Names and numbers, and room for fields that later clients may send.
constexpr uint64_t kMaxControlBytes = 64 << 10;

absl::Status SelfTestRunningError() {
  return MakeRetryableError(ErrorReason::SELF_TEST_RUNNING, "Another self-test is running.",
                            seconds(1));
}

// A call of SelfTestDevices while the tests run in a thread of their own.
struct SelfTestRun {
  AuditEntry entry = {.method = "SelfTestDevices"};
  absl::Status status;
  v1::SelfTestDevicesResponse answer;
  std::atomic<bool> is_given_up = false;
};

// Has the tests end when nobody waits for them any more: their client gave them up, or a drain has
// ended his connection, and waits for the end of the call.
class SelfTestHandler final : public CallHandler {
 public:
  SelfTestHandler(UnaryCall& /*call*/, std::shared_ptr<SelfTestRun> run) : run_(std::move(run)) {}

  void OnCancel() override { run_->is_given_up = true; }

 private:
  const std::shared_ptr<SelfTestRun> run_;
};

}  // namespace

OperatorService::OperatorService(const ServiceParts& parts)
    : options_(parts.options),
      started_(parts.clock.Now()),
      leases_(parts.leases),
      audit_(parts.audit),
      refusals_(parts.clock, seconds(1)),
      buffers_(parts.options.idle_buffer_bytes),
      regions_(parts.options.regions.limits),
      tensors_({.limits = parts.options.tensors,
                .validation = parts.options.validation,
                .max_message_bytes = parts.options.max_message_bytes},
               parts.clock, parts.admission, parts.pool, buffers_),
      sequences_({parts.options.validation, parts.options.max_sequence_steps},
                 parts.options.max_message_bytes,
                 [&pool = parts.pool] { return pool.gpu_presence(); }),
      parts_{parts.clock,
             parts.pool,
             parts.validator,
             sequences_,
             parts.admission,
             parts.logger,
             {.placement = parts.options.placement,
              .max_stream_bytes = parts.options.max_stream_bytes,
              .stream_window_bytes = parts.options.stream_window_bytes,
              .max_sequence_steps = parts.options.max_sequence_steps},
             refusals_,
             buffers_,
             {regions_, tensors_.store()},
             &parts.leases,
             parts.observer},
      rpc_(kServiceName, &parts.logger) {
  // Requests with payloads are admitted with the bytes of their tensors once those are known.
  const auto message = [&](Role role) {
    return MethodLimits{.role = role,
                        .max_request_bytes = parts.options.max_message_bytes,
                        .room = &parts.admission,
                        .observer = parts.observer};
  };
  MethodLimits stream = message(Role::kExecute);
  stream.admission = &parts.streams;
  const auto control = [&](Role role) {
    return MethodLimits{.role = role,
                        .max_request_bytes = kMaxControlBytes,
                        .admission = &parts.control,
                        .observer = parts.observer};
  };
  AddUnaryExecute(rpc_, message(Role::kExecute), parts_);
  rpc_.AddStream("ExecuteStream", stream,
                 [this](StreamCall& call) { return StartExecuteStream(parts_, call); });
  tensors_.AddTo(rpc_, message(Role::kTensors), control(Role::kTensors));
  rpc_.AddUnary("ListOperators", control(Role::kObserve),
                [this](UnaryCall& call) { ListOperators(call); });
  rpc_.AddUnary("GetServerInfo", control(Role::kObserve),
                [this](UnaryCall& call) { GetServerInfo(call); });
  MethodLimits admin = control(Role::kAdmin);
  admin.observer = parts.admin_observer;
  rpc_.AddUnary("SelfTestDevices", admin, [this](UnaryCall& call) { SelfTestDevices(call); });
  const MethodLimits lease = {.role = Role::kExecute,
                              .max_request_bytes = kMaxControlBytes,
                              .admission = &parts.streams,
                              .observer = parts.observer};
  AddLeaseMethods(rpc_, lease, control(Role::kExecute), parts.leases, parts.pool);
}

void OperatorService::ListOperators(UnaryCall& call) const {
  v1::ListOperatorsRequest request;
  v1::ListOperatorsResponse answer;
  absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) status = opserve::ListOperators(request, answer);
  if (status.ok()) AddOperatorDevices(parts_.pool, answer);
  call.Finish(status, answer);
}

void OperatorService::GetServerInfo(UnaryCall& call) const {
  v1::GetServerInfoRequest request;
  v1::GetServerInfoResponse answer;
  const absl::Status status = ParseMessage(call.request(), request);
  if (status.ok()) WriteServerInfo(answer);
  call.Finish(status, answer);
}

void OperatorService::SelfTestDevices(UnaryCall& call) {
  // Made before the thread, which so needs no memory for it.
  const auto run = std::make_shared<SelfTestRun>();
  v1::SelfTestDevicesRequest request;
  absl::Status status = ParseMessage(call.request(), request);
  run->entry.device = request.device();
  const auto answer = [this, &call, run](const absl::Status& end) {
    AnswerAudited(audit_, call, run->entry, end, run->answer);
  };
  if (!status.ok()) return answer(status);
  call.Keep<SelfTestHandler>(run);
  const bool is_started = self_test_.Start(
      [this, run, name = request.device()] {
        try {
          run->status = SelfTest(name, run->is_given_up, run->answer);
        } catch (...) {
          run->status = ErrorOfException();
        }
      },
      [&call, run, answer] { call.Guard([&] { answer(run->status); }); });
  if (!is_started) answer(SelfTestRunningError());
}

absl::Status OperatorService::SelfTest(const std::string& device, const std::atomic<bool>& stop,
                                       v1::SelfTestDevicesResponse& answer) {
  const auto results = parts_.pool.SelfTest(device, &stop);
  if (absl::IsNotFound(results.status())) {
    return MakeError(ErrorReason::DEVICE_NOT_FOUND, results.status().message(),
                     {{"device", TruncateUtf8(device, kMaxRequestIdBytes)}});
  }
  if (absl::IsCancelled(results.status())) return absl::CancelledError("The call was given up.");
  if (!results.ok()) return SelfTestRunningError();
  for (const SelfTestResult& result : *results) AddSelfTest(result, answer);
  return absl::OkStatus();
}

void OperatorService::WriteServerInfo(v1::GetServerInfoResponse& info) const {
  info.set_version(OPSERVE_VERSION);
  info.set_feature_level(NameOf(kHighestFeatureLevel));
  info.set_host(options_.advertise);
  for (const DeviceStatus& device : parts_.pool.Status()) AddDevice(device, info);
  for (const DeviceLeaseView& lease : leases_.List()) AddLease(lease, info);
  const ServerOptions& options = options_;
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
  limits.set_max_stream_bytes(options.max_stream_bytes);
  limits.set_stream_window_bytes(options.stream_window_bytes);
  limits.set_max_resident_bytes_per_client(options.tensors.max_bytes_per_client);
  limits.set_max_resident_bytes(options.tensors.max_bytes);
  limits.set_max_lease_s(static_cast<uint32_t>(options.tensors.max_ttl.count()));
  if (!region_socket_.empty()) {
    info.mutable_shared_memory()->set_socket(region_socket_);
    info.mutable_shared_memory()->set_max_bytes(options.regions.limits.max_bytes);
  }
  const DeviceLeaseLimits& leases = leases_.limits();
  limits.set_max_device_lease_s(leases.is_on ? static_cast<uint32_t>(leases.max_time.count()) : 0);
  limits.set_max_device_leases_per_client(static_cast<uint32_t>(leases.max_per_client));
  limits.set_max_sequence_steps(static_cast<uint32_t>(options.max_sequence_steps));
  const auto uptime = std::chrono::duration_cast<seconds>(parts_.clock.Now() - started_);
  info.set_uptime_s(static_cast<uint64_t>(uptime.count()));
}

}  // namespace opserve
