#include "client/api/client_impl.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "client/wire/result_buffer.h"
#include "client/wire/wire_tensors.h"
#include "google/protobuf/wrappers.pb.h"

namespace opserve::client_internal {
namespace {

double Random() {
  thread_local absl::InsecureBitGen generator;
  return absl::Uniform(generator, 0.0, 1.0);
}

constexpr char kExecute[] = "/opserve.v1.OperatorService/Execute";
constexpr char kExecuteStream[] = "/opserve.v1.OperatorService/ExecuteStream";
constexpr char kListOperators[] = "/opserve.v1.OperatorService/ListOperators";
constexpr char kGetServerInfo[] = "/opserve.v1.OperatorService/GetServerInfo";
constexpr char kSelfTestDevices[] = "/opserve.v1.OperatorService/SelfTestDevices";
constexpr char kCheckHealth[] = "/grpc.health.v1.Health/Check";

// Smaller ones would be all headers.
constexpr uint64_t kMinPieceBytes = 1024;

// Wrappers are wire-compatible with grpc.health.v1: field 1 is the service's name in the request,
// the status in the response. They spare a second registration of the health messages.
using HealthRequest = google::protobuf::StringValue;
using HealthResponse = google::protobuf::Int32Value;

ExecutionInfo InfoOf(const v1::ExecuteResponse& header, const RetryState& retries) {
  ExecutionInfo info = DecodeExecution(header.execution());
  info.sends = retries.attempts();
  return info;
}

absl::StatusOr<OutputPlace> DecodeIfOk(const absl::Status& status, const ReceivedMessage& response,
                                       v1::ExecuteResponse& header) {
  if (!status.ok()) return status;
  return DecodeOutput(response, header);
}

}  // namespace

struct ClientImpl::AsyncCall {
  OutgoingMessage request;
  ReceivedMessage response;
  RetryState retries;
  ExecuteCallback done;
};

ClientImpl::~ClientImpl() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return in_flight_ == 0; });
}

absl::Status ClientImpl::WaitForServer() {
  if (options_.connect_timeout <= absl::ZeroDuration()) return absl::OkStatus();
  // Any answer proves that there is a server, also one that has no health service.
  ReceivedMessage response;
  absl::Status status = transport_->Call(kCheckHealth, {}, options_.connect_timeout, response);
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return status;
  return absl::OkStatus();
}

RetryState ClientImpl::StartRetries(const CallOptions& options, bool is_idempotent) {
  return RetryState(options.retry.value_or(options_.retry),
                    clock_->Now() + options.timeout.value_or(options_.default_timeout),
                    is_idempotent);
}

std::optional<absl::Duration> ClientImpl::OnFailure(RetryState& retries,
                                                    const absl::Status& status) {
  return retries.OnFailure(status, clock_->Now(), Random());
}

absl::Status ClientImpl::Call(const char* method, const OutgoingMessage& request,
                              RetryState& retries, ReceivedMessage& response) {
  while (true) {
    absl::Status status =
        transport_->Call(method, request, retries.TimeLeft(clock_->Now()), response);
    if (status.ok()) return status;
    const std::optional<absl::Duration> wait = OnFailure(retries, status);
    if (!wait) return status;
    clock_->SleepFor(*wait);
  }
}

absl::Status ClientImpl::Call(const char* method, const google::protobuf::Message& request,
                              RetryState& retries, google::protobuf::Message& response) {
  ReceivedMessage received;
  const absl::Status status = Call(method, {request.SerializeAsString()}, retries, received);
  return status.ok() ? Parse(received, response) : status;
}

absl::Status ClientImpl::Call(const char* method, const google::protobuf::Message& request,
                              const CallOptions& options, google::protobuf::Message& response) {
  RetryState retries = StartRetries(options);
  return Call(method, request, retries, response);
}

absl::StatusOr<OutputPlace> ClientImpl::Run(const OperatorCall& call, const CallOptions& options,
                                            ExecutionInfo* info, ReceivedMessage& response) {
  RetryState retries = StartRetries(options);
  v1::ExecuteResponse header;
  const absl::Status status = Call(kExecute, MakeRequest(call), retries, response);
  absl::StatusOr<OutputPlace> output = DecodeIfOk(status, response, header);
  if (info != nullptr) *info = InfoOf(header, retries);
  return output;
}

absl::StatusOr<Tensor> ClientImpl::MakeTensor(
    TensorSpec spec, absl::FunctionRef<absl::Status(std::span<std::byte>)> fill) {
  const absl::StatusOr<uint64_t> bytes = ByteSize(spec);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::shared_ptr<const HostBuffer>> buffer = TakeResultBuffer(buffers_, *bytes);
  if (!buffer.ok()) return buffer.status();
  const std::span<std::byte> target((*buffer)->data(), *bytes);
  absl::Status filled = fill(target);
  if (!filled.ok()) return filled;
  return Tensor::FromShared(std::move(spec), target, *std::move(buffer));
}

absl::StatusOr<Tensor> ClientImpl::Gather(const ReceivedMessage& response, OutputPlace output) {
  return MakeTensor(std::move(output.spec), [&](std::span<std::byte> target) {
    response.CopyPayload(output.payload, target.data());
    return absl::OkStatus();
  });
}

absl::StatusOr<uint64_t> ClientImpl::MaxPayloadBytes(RetryState& retries) {
  if (const uint64_t known = max_payload_bytes_; known > 0) return known;
  v1::GetServerInfoResponse info;
  retries.StartOver();
  const absl::Status status = Call(kGetServerInfo, v1::GetServerInfoRequest(), retries, info);
  if (!status.ok()) return status;
  // More than the rest of a message about one tensor takes.
  constexpr uint64_t kHeaderBytes = 1024;
  uint64_t limit = info.limits().max_message_bytes();
  if (options_.max_message_bytes >= 0) {
    limit = std::min(limit, static_cast<uint64_t>(options_.max_message_bytes));
  }
  limit = std::min(limit - std::min(limit, kHeaderBytes), info.limits().max_queued_bytes());
  max_payload_bytes_ = std::max<uint64_t>(limit, 1);
  return max_payload_bytes_;
}

absl::StatusOr<Tensor> ClientImpl::Execute(const OperatorCall& call, const CallOptions& options,
                                           ExecutionInfo* info) {
  ReceivedMessage response;
  absl::StatusOr<OutputPlace> output = Run(call, options, info, response);
  if (!output.ok()) return output.status();
  return Gather(response, *std::move(output));
}

absl::StatusOr<TensorSpec> ClientImpl::ExecuteInto(const OperatorCall& call,
                                                   std::span<std::byte> target,
                                                   const CallOptions& options,
                                                   ExecutionInfo* info) {
  ReceivedMessage response;
  absl::StatusOr<OutputPlace> output = Run(call, options, info, response);
  if (!output.ok()) return output.status();
  if (output->bytes != target.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the result, ", ToString(output->spec), ", has ",
                                                   output->bytes, " bytes; there is room for ",
                                                   target.size()));
  }
  response.CopyPayload(output->payload, target.data());
  return std::move(output->spec);
}

absl::StatusOr<TensorSpec> ClientImpl::ExecuteTo(const OperatorCall& call,
                                                 const TensorPlace& output,
                                                 const CallOptions& options, ExecutionInfo* info) {
  RetryState retries = StartRetries(options, !Overlaps(output, call.inputs));
  ReceivedMessage response;
  v1::ExecuteResponse header;
  const absl::Status status = Call(kExecute, MakeRequest(call, output), retries, response);
  absl::StatusOr<TensorSpec> spec =
      status.ok() ? DecodePlacedOutput(response, header) : absl::StatusOr<TensorSpec>(status);
  if (info != nullptr) *info = InfoOf(header, retries);
  return spec;
}

void ClientImpl::ExecuteAsync(const OperatorCall& call, ExecuteCallback done,
                              const CallOptions& options) {
  {
    const std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  StartAttempt(std::make_shared<AsyncCall>(
      AsyncCall{MakeRequest(call), {}, StartRetries(options), std::move(done)}));
}

void ClientImpl::StartAttempt(std::shared_ptr<AsyncCall> call) {
  AsyncCall& attempt = *call;
  transport_->CallAsync(
      kExecute, attempt.request, attempt.retries.TimeLeft(clock_->Now()), attempt.response,
      [this, call = std::move(call)](const absl::Status& status) { OnAttemptDone(call, status); });
}

void ClientImpl::OnAttemptDone(std::shared_ptr<AsyncCall> call, const absl::Status& status) {
  if (!status.ok()) {
    if (const std::optional<absl::Duration> wait = OnFailure(call->retries, status)) {
      // This is a thread of gRPC, which must not sleep.
      clock_->RunAfter(*wait, [this, call = std::move(call)] { StartAttempt(call); });
      return;
    }
  }
  v1::ExecuteResponse header;
  absl::StatusOr<OutputPlace> output = DecodeIfOk(status, call->response, header);
  absl::StatusOr<Tensor> result =
      output.ok() ? Gather(call->response, *std::move(output)) : output.status();
  const ExecutionInfo info = InfoOf(header, call->retries);
  {
    // What the callback holds goes before the call counts as done: the destructor waits for that.
    ExecuteCallback done = std::move(call->done);
    std::move(done)(std::move(result), info);
  }
  const std::lock_guard lock(mutex_);
  // Still under the lock: without it the destructor could end before notify_all does.
  if (--in_flight_ == 0) idle_.notify_all();
}

absl::StatusOr<std::shared_ptr<StreamCore>> ClientImpl::OpenStream(const StreamOptions& options) {
  if (options.piece_bytes < kMinPieceBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pieces of ", options.piece_bytes, " bytes; at least ", kMinPieceBytes, " are needed"));
  }
  auto stream = std::make_shared<StreamCore>(
      options, options.request_timeout.value_or(options_.default_timeout), buffers_, *clock_,
      transport_->OpenStream(kExecuteStream, options.timeout));
  stream->Start();
  return stream;
}

absl::StatusOr<Catalogue> ClientImpl::ListOperators(absl::string_view name,
                                                    absl::string_view feature_level,
                                                    const CallOptions& options) {
  v1::ListOperatorsRequest request;
  request.set_name(std::string(name));
  request.set_feature_level(std::string(feature_level));
  v1::ListOperatorsResponse response;
  const absl::Status status = Call(kListOperators, request, options, response);
  if (!status.ok()) return status;
  return DecodeCatalogue(response);
}

absl::StatusOr<ServerInfo> ClientImpl::GetServerInfo(const CallOptions& options) {
  v1::GetServerInfoResponse response;
  const absl::Status status = Call(kGetServerInfo, v1::GetServerInfoRequest(), options, response);
  if (!status.ok()) return status;
  return DecodeServerInfo(response);
}

absl::StatusOr<std::vector<SelfTestReport>> ClientImpl::SelfTestDevices(
    absl::string_view name, const CallOptions& options) {
  v1::SelfTestDevicesRequest request;
  request.set_device(std::string(name));
  v1::SelfTestDevicesResponse response;
  const absl::Status status = Call(kSelfTestDevices, request, options, response);
  if (!status.ok()) return status;
  return DecodeSelfTests(response);
}

absl::StatusOr<SharedRegion> ClientImpl::CreateRegion(uint64_t bytes, const CallOptions& options) {
  RetryState retries = StartRetries(options);
  const auto find_socket = [&]() -> absl::StatusOr<SharedMemoryInfo> {
    v1::GetServerInfoResponse response;
    absl::Status status = Call(kGetServerInfo, v1::GetServerInfoRequest(), retries, response);
    if (!status.ok()) return status;
    std::optional<SharedMemoryInfo> info = DecodeServerInfo(response).shared_memory;
    if (info) return *std::move(info);
    return absl::FailedPreconditionError("the server shares no memory with other programs");
  };
  return shared_memory_.Create(bytes, find_socket, [&] { return retries.TimeLeft(clock_->Now()); });
}

absl::StatusOr<HealthStatus> ClientImpl::CheckHealth(absl::string_view service,
                                                     const CallOptions& options) {
  HealthRequest request;
  request.set_value(std::string(service));
  HealthResponse response;
  const absl::Status status = Call(kCheckHealth, request, options, response);
  if (!status.ok()) return status;
  const bool is_known = response.value() == 1 || response.value() == 2;
  return is_known ? static_cast<HealthStatus>(response.value()) : HealthStatus::kUnknown;
}

}  // namespace opserve::client_internal
