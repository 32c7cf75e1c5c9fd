#include "client/client_impl.h"

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "client/wire.h"

namespace opserve::client_internal {
namespace {

double Random() {
  thread_local absl::InsecureBitGen generator;
  return absl::Uniform(generator, 0.0, 1.0);
}

ExecutionInfo InfoOf(const v1::ExecuteResponse& response, const RetryState& retries) {
  ExecutionInfo info = DecodeExecution(response.execution());
  info.sends = retries.attempts();
  return info;
}

}  // namespace

struct ClientImpl::AsyncCall {
  v1::ExecuteRequest request;
  v1::ExecuteResponse response;
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
  absl::Status status = transport_->CheckHealth("", options_.connect_timeout).status();
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return status;
  return absl::OkStatus();
}

RetryState ClientImpl::StartRetries(const CallOptions& options) {
  return RetryState(options.retry.value_or(options_.retry),
                    clock_->Now() + options.timeout.value_or(options_.default_timeout));
}

std::optional<absl::Duration> ClientImpl::OnFailure(RetryState& retries,
                                                    const absl::Status& status) {
  return retries.OnFailure(status, clock_->Now(), Random());
}

absl::Status ClientImpl::Retry(RetryState& retries,
                               absl::FunctionRef<absl::Status(absl::Duration timeout)> attempt) {
  while (true) {
    absl::Status status = attempt(retries.TimeLeft(clock_->Now()));
    if (status.ok()) return status;
    const std::optional<absl::Duration> wait = OnFailure(retries, status);
    if (!wait) return status;
    clock_->SleepFor(*wait);
  }
}

absl::StatusOr<Tensor> ClientImpl::Execute(const OperatorCall& call, const CallOptions& options,
                                           ExecutionInfo* info) {
  RetryState retries = StartRetries(options);
  const v1::ExecuteRequest request = EncodeCall(call);
  v1::ExecuteResponse response;
  const absl::Status status = Retry(retries, [&](absl::Duration timeout) {
    return transport_->Execute(request, timeout, response);
  });
  if (info != nullptr) *info = InfoOf(response, retries);
  if (!status.ok()) return status;
  return DecodeOutput(response);
}

void ClientImpl::ExecuteAsync(const OperatorCall& call, ExecuteCallback done,
                              const CallOptions& options) {
  {
    const std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  StartAttempt(std::make_shared<AsyncCall>(
      AsyncCall{EncodeCall(call), {}, StartRetries(options), std::move(done)}));
}

void ClientImpl::StartAttempt(std::shared_ptr<AsyncCall> call) {
  AsyncCall& attempt = *call;
  transport_->ExecuteAsync(
      attempt.request, attempt.retries.TimeLeft(clock_->Now()), attempt.response,
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
  const ExecutionInfo info = InfoOf(call->response, call->retries);
  {
    // What the callback holds goes before the call counts as done: the destructor waits for that.
    ExecuteCallback done = std::move(call->done);
    std::move(done)(status.ok() ? DecodeOutput(call->response) : status, info);
  }
  const std::lock_guard lock(mutex_);
  // Still under the lock: without it the destructor could end before notify_all does.
  if (--in_flight_ == 0) idle_.notify_all();
}

absl::StatusOr<Catalogue> ClientImpl::ListOperators(absl::string_view name,
                                                    absl::string_view feature_level,
                                                    const CallOptions& options) {
  RetryState retries = StartRetries(options);
  v1::ListOperatorsRequest request;
  request.set_name(std::string(name));
  request.set_feature_level(std::string(feature_level));
  v1::ListOperatorsResponse response;
  const absl::Status status = Retry(retries, [&](absl::Duration timeout) {
    return transport_->ListOperators(request, timeout, response);
  });
  if (!status.ok()) return status;
  return DecodeCatalogue(response);
}

absl::StatusOr<ServerInfo> ClientImpl::GetServerInfo(const CallOptions& options) {
  RetryState retries = StartRetries(options);
  v1::GetServerInfoResponse response;
  const absl::Status status = Retry(retries, [&](absl::Duration timeout) {
    return transport_->GetServerInfo({}, timeout, response);
  });
  if (!status.ok()) return status;
  return DecodeServerInfo(response);
}

absl::StatusOr<std::vector<SelfTestReport>> ClientImpl::SelfTestDevices(
    absl::string_view name, const CallOptions& options) {
  RetryState retries = StartRetries(options);
  v1::SelfTestDevicesRequest request;
  request.set_device(std::string(name));
  v1::SelfTestDevicesResponse response;
  const absl::Status status = Retry(retries, [&](absl::Duration timeout) {
    return transport_->SelfTestDevices(request, timeout, response);
  });
  if (!status.ok()) return status;
  return DecodeSelfTests(response);
}

absl::StatusOr<HealthStatus> ClientImpl::CheckHealth(absl::string_view service,
                                                     const CallOptions& options) {
  RetryState retries = StartRetries(options);
  absl::StatusOr<HealthStatus> health = HealthStatus::kUnknown;
  const absl::Status status = Retry(retries, [&](absl::Duration timeout) {
    health = transport_->CheckHealth(service, timeout);
    return health.status();
  });
  if (!status.ok()) return status;
  return health;
}

}  // namespace opserve::client_internal
