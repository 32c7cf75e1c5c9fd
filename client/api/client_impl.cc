#include "client/api/client_impl.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "client/base/status_details.h"
#include "client/wire/result_buffer.h"
#include "client/wire/wire_tensors.h"
#include "google/protobuf/wrappers.pb.h"
#include "opserve/errors.h"

namespace opserve::client_internal {
namespace {

double Random() {
  thread_local absl::InsecureBitGen generator;
  return absl::Uniform(generator, 0.0, 1.0);
}

constexpr char kExecuteStream[] = "/opserve.v1.OperatorService/ExecuteStream";
constexpr char kListOperators[] = "/opserve.v1.OperatorService/ListOperators";
constexpr char kSelfTestDevices[] = "/opserve.v1.OperatorService/SelfTestDevices";
constexpr char kCheckHealth[] = "/grpc.health.v1.Health/Check";

// Smaller ones would be all headers.
constexpr uint64_t kMinPieceBytes = 1024;

// Hosts whose limits are kept. They are named by ids, which may be anything.
constexpr size_t kMostLimits = 1024;

// Wrappers are wire-compatible with grpc.health.v1: field 1 is the service's name in the request,
// the status in the response. They spare a second registration of the health messages.
using HealthRequest = google::protobuf::StringValue;
using HealthResponse = google::protobuf::Int32Value;

}  // namespace

ClientImpl::~ClientImpl() {
  const MutexLock lock(mutex_);
  while (in_flight_ > 0) idle_.Wait(mutex_);
}

absl::Status ClientImpl::WaitForServer() {
  if (options_.connect_timeout <= absl::ZeroDuration()) return absl::OkStatus();
  const absl::Time end = clock_->Now() + options_.connect_timeout;
  // One that does not answer must not take the time of the others, which connect meanwhile.
  const int attempts = transport_->HasSeveralHosts() ? 3 : 1;
  absl::Status status;
  Route route;
  for (int left = attempts; left > 0;) {
    // Any answer proves that there is a server, also one that has no health service.
    ResponseMessage response;
    status = transport_->Call(kCheckHealth, {}, (end - clock_->Now()) / left, response, route);
    if (absl::IsUnavailable(status) && route.next == NextHost::kOther) continue;
    if (!absl::IsDeadlineExceeded(status)) break;
    --left;
  }
  if (absl::IsDeadlineExceeded(status)) {
    return MakeClientError(
        absl::StatusCode::kDeadlineExceeded,
        absl::StrCat("no answer within ", absl::FormatDuration(options_.connect_timeout)),
        kConnectTimeout, status.message());
  }
  if (absl::IsUnavailable(status)) return status;
  return absl::OkStatus();
}

RetryState ClientImpl::StartRetries(const CallOptions& options, bool is_idempotent) {
  return RetryState(options.retry.value_or(options_.retry),
                    clock_->Now() + options.timeout.value_or(options_.default_timeout),
                    is_idempotent);
}

std::optional<absl::Duration> ClientImpl::OnFailure(RetryState& retries, absl::Status& status) {
  const std::optional<absl::Duration> wait = retries.OnFailure(status, clock_->Now(), Random());
  if (!wait) retries.AddOtherHosts(status);
  return wait;
}

Answer ClientImpl::Invoke(const char* method, const OutgoingMessage& request, RetryState& retries) {
  Answer answer;
  while (true) {
    answer.status = transport_->Call(method, request, retries.TimeLeft(clock_->Now()),
                                     answer.message, retries.route());
    answer.host = retries.route().host;
    answer.info.sends = retries.attempts();
    answer.has_attempts_left = retries.has_attempts_left();
    if (answer.status.ok()) return answer;
    const std::optional<absl::Duration> wait = OnFailure(retries, answer.status);
    if (!wait) return answer;
    clock_->SleepFor(*wait);
  }
}

absl::Status ClientImpl::CheckOneHost() const {
  if (!transport_->HasSeveralHosts()) return absl::OkStatus();
  return MakeClientError(absl::StatusCode::kFailedPrecondition,
                         "the call is about a single host, and the target may have several; "
                         "connect to the address of that one alone",
                         kOneHostNeeded);
}

absl::Status ClientImpl::LearnHost(absl::string_view id, size_t number) {
  const std::string host(HostOf(id));
  if (!host.empty()) {
    transport_->LearnHost(number, host);
    return absl::OkStatus();
  }
  if (!transport_->HasSeveralHosts()) return absl::OkStatus();
  return MakeClientError(
      absl::StatusCode::kFailedPrecondition,
      "the target may have several hosts, and the one that was to keep this does not say its "
      "address; start opserve-server with --advertise",
      kHostNotAdvertised);
}

absl::StatusOr<std::shared_ptr<const HostBuffer>> ClientImpl::TakeBuffer(const TensorSpec& spec) {
  const absl::StatusOr<uint64_t> bytes = ByteSize(spec);
  if (!bytes.ok()) return bytes.status();
  return TakeResultBuffer(buffers_, *bytes);
}

absl::StatusOr<Tensor> ClientImpl::Gather(const ResponseMessage& response, ReceivedOutput output) {
  absl::StatusOr<std::shared_ptr<const HostBuffer>> buffer = TakeBuffer(output.spec);
  if (!buffer.ok()) return buffer.status();
  const std::span<std::byte> target((*buffer)->data(), output.bytes);
  response.CopyPayload(output.payload, target.data());
  return Tensor::FromShared(std::move(output.spec), target, *std::move(buffer));
}

absl::StatusOr<ServerInfo> ClientImpl::ReadServerInfo(const Answer& answer) {
  if (!answer.status.ok()) return answer.status;
  v1::GetServerInfoResponse response;
  absl::Status parsed = Parse(answer.message, response);
  if (!parsed.ok()) return parsed;
  return DecodeServerInfo(response);
}

uint64_t ClientImpl::MaxPayloadOf(const std::string& host) {
  const MutexLock lock(mutex_);
  const auto known = max_payload_bytes_.find(host);
  return known == max_payload_bytes_.end() ? 0 : known->second;
}

void ClientImpl::OnRefusedPayload(const std::string& host, uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto known = max_payload_bytes_.find(host);
  // Another call may have asked already.
  if (known != max_payload_bytes_.end() && known->second >= bytes) max_payload_bytes_.erase(known);
}

uint64_t ClientImpl::LearnMaxPayload(const std::string& host, const ServerLimits& limits) {
  // More than the rest of a message about one tensor takes.
  constexpr uint64_t kHeaderBytes = 1024;
  uint64_t limit = limits.max_message_bytes;
  if (options_.max_message_bytes >= 0) {
    limit = std::min(limit, static_cast<uint64_t>(options_.max_message_bytes));
  }
  limit = std::min(limit - std::min(limit, kHeaderBytes), limits.max_queued_bytes);
  limit = std::max<uint64_t>(limit, 1);
  const MutexLock lock(mutex_);
  if (max_payload_bytes_.size() == kMostLimits) max_payload_bytes_.clear();
  max_payload_bytes_[host] = limit;
  return limit;
}

void ClientImpl::BeginAsync() {
  const MutexLock lock(mutex_);
  ++in_flight_;
}

void ClientImpl::EndAsync() {
  const MutexLock lock(mutex_);
  // Still under the lock: without it the destructor could end before notify_all does.
  if (--in_flight_ == 0) idle_.NotifyAll();
}

void ClientImpl::StartAttempt(std::shared_ptr<AsyncStep> step) {
  AsyncStep& attempt = *step;
  transport_->CallAsync(attempt.method, attempt.request, attempt.retries.TimeLeft(clock_->Now()),
                        attempt.answer.message, attempt.retries.route(), *attempt.cancellation,
                        [this, step = std::move(step)](absl::Status status) {
                          OnAttemptDone(step, std::move(status));
                        });
}

void ClientImpl::OnAttemptDone(const std::shared_ptr<AsyncStep>& step, absl::Status status) {
  step->answer.info.sends = step->retries.attempts();
  step->answer.has_attempts_left = step->retries.has_attempts_left();
  step->answer.host = step->retries.route().host;
  if (!status.ok()) {
    if (const std::optional<absl::Duration> wait = OnFailure(step->retries, status)) {
      return WaitForAttempt(step, *wait);
    }
  }
  OnAnswer(*step, std::move(status));
}

void ClientImpl::WaitForAttempt(const std::shared_ptr<AsyncStep>& step, absl::Duration wait) {
  // The call may end, and the client with it, as soon as somebody can cancel it.
  BeginAsync();
  // Whoever comes first goes on: the clock or the user, who cancels.
  const auto has_ended = std::make_shared<std::atomic<bool>>(false);
  const auto end = [this, step, has_ended] {
    if (has_ended->exchange(true)) return;
    if (step->cancellation->is_cancelled()) {
      return OnAnswer(*step, absl::CancelledError("the call was cancelled"));
    }
    StartAttempt(step);
  };
  step->cancellation->OnCancel(end);
  // This is a thread of gRPC, which must not sleep.
  if (!*has_ended) clock_->RunAfter(wait, end);
  EndAsync();
}

void ClientImpl::OnAnswer(AsyncStep& step, absl::Status status) {
  step.answer.status = std::move(status);
  // It may end the client, which waits for the call, and nothing of the step is needed any more.
  const std::function<void(AsyncStep&)> then = std::move(step.then);
  then(step);
}

absl::StatusOr<std::shared_ptr<StreamCore>> ClientImpl::OpenStream(const StreamOptions& options) {
  if (options.piece_bytes < kMinPieceBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pieces of ", options.piece_bytes, " bytes; at least ", kMinPieceBytes, " are needed"));
  }
  Route route;
  auto stream = std::make_shared<StreamCore>(
      options, options.request_timeout.value_or(options_.default_timeout), buffers_, *clock_,
      transport_->OpenStream(kExecuteStream, options.timeout, options.host, route));
  stream->Start();
  return stream;
}

Operation<Catalogue> ClientImpl::ListOperators(absl::string_view name,
                                               absl::string_view feature_level,
                                               const CallOptions& options) {
  v1::ListOperatorsRequest request;
  request.set_name(std::string(name));
  request.set_feature_level(std::string(feature_level));
  return Ask<v1::ListOperatorsResponse>(kListOperators, request, options, DecodeCatalogue);
}

Operation<ServerInfo> ClientImpl::GetServerInfo(const CallOptions& options) {
  return Ask<v1::GetServerInfoResponse>(kGetServerInfo, v1::GetServerInfoRequest(), options,
                                        DecodeServerInfo);
}

Operation<std::vector<SelfTestReport>> ClientImpl::SelfTestDevices(absl::string_view name,
                                                                   const CallOptions& options) {
  v1::SelfTestDevicesRequest request;
  request.set_device(std::string(name));
  return AskOne<v1::SelfTestDevicesResponse>(kSelfTestDevices, request, options, DecodeSelfTests);
}

Operation<HealthStatus> ClientImpl::CheckHealth(absl::string_view service,
                                                const CallOptions& options) {
  HealthRequest request;
  request.set_value(std::string(service));
  return Ask<HealthResponse>(kCheckHealth, request, options, [](const HealthResponse& response) {
    const bool is_known = response.value() == 1 || response.value() == 2;
    return is_known ? static_cast<HealthStatus>(response.value()) : HealthStatus::kUnknown;
  });
}

absl::StatusOr<SharedRegion> ClientImpl::CreateRegion(uint64_t bytes, const CallOptions& options) {
  const std::string host = transport_->LocalHost();
  if (host.empty() && transport_->HasSeveralHosts()) {
    return absl::FailedPreconditionError("no host of the target is on this machine");
  }
  RetryState retries = StartRetries(options);
  const auto find_socket = [&]() -> absl::StatusOr<SharedMemoryInfo> {
    OutgoingMessage request;
    request.host = host;
    const Answer answer = Invoke(kGetServerInfo, request, retries);
    absl::StatusOr<ServerInfo> info = ReadServerInfo(answer);
    if (!info.ok()) return info.status();
    region_host_ = answer.host;
    if (info->shared_memory) return *std::move(info->shared_memory);
    return absl::FailedPreconditionError("the server shares no memory with other programs");
  };
  absl::StatusOr<SharedRegion> region =
      shared_memory_.Create(bytes, find_socket, [&] { return retries.TimeLeft(clock_->Now()); });
  if (!region.ok()) return region;
  absl::Status learnt = LearnHost(region->range(0, 0).id(), region_host_);
  if (!learnt.ok()) return learnt;
  return region;
}

}  // namespace opserve::client_internal
