#include "server/rpc/health_service.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "grpc/health/v1/health.pb.h"
#include "server/rpc/message_bytes.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace opserve {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Watch remembers the name for as long as it lasts.
constexpr size_t kMaxNameBytes = 200;
// A name, and room for fields that later clients may send.
constexpr uint64_t kMaxRequestBytes = 4 << 10;

absl::Status ReadName(grpc::ByteBuffer& bytes, std::string& name) {
  HealthCheckRequest request;
  if (absl::Status status = ParseMessage(bytes, request); !status.ok()) return status;
  if (request.service().size() > kMaxNameBytes) {
    return absl::InvalidArgumentError("The name of the service is too long.");
  }
  name = std::move(*request.mutable_service());
  return absl::OkStatus();
}

grpc::ByteBuffer ResponseOf(int status) {
  HealthCheckResponse response;
  response.set_status(static_cast<HealthCheckResponse::ServingStatus>(status));
  return SerializeMessage(response);
}

}  // namespace

// One message is on its way at a time; what changes meanwhile is told in one.
class HealthService::Watcher final : public StreamHandler {
 public:
  Watcher(HealthService& service, StreamCall& call) : service_(service), call_(call) {
    call_.Read();
  }

  void OnMessage(grpc::ByteBuffer& message) override {
    std::string name;
    if (absl::Status status = ReadName(message, name); !status.ok()) {
      call_.Finish(status);
      return;
    }
    {
      MutexLock lock(service_.mutex_);
      if (is_over_) return;
      name_ = std::move(name);
      service_.watchers_.insert(this);
    }
    Tell();
  }
  void OnMessagesEnd() override {
    call_.Finish(absl::InvalidArgumentError("There is no request."));
  }
  void OnWritten() override {
    {
      MutexLock lock(service_.mutex_);
      is_telling_ = false;
    }
    Tell();
  }
  void OnOver() override {
    MutexLock lock(service_.mutex_);
    is_over_ = true;
    service_.watchers_.erase(this);
  }

  StreamCall& call() { return call_; }

  // Tells what has not been told yet. Thread-safe.
  void Tell() {
    int status = 0;
    {
      MutexLock lock(service_.mutex_);
      status = service_.StatusOf(name_);
      if (is_telling_ || told_ == status) return;
      is_telling_ = true;
      told_ = status;
    }
    call_.Write(ResponseOf(status));
  }

 private:
  HealthService& service_;
  StreamCall& call_;
  std::string name_ ABSL_GUARDED_BY(service_.mutex_);
  std::optional<int> told_ ABSL_GUARDED_BY(service_.mutex_);
  bool is_telling_ ABSL_GUARDED_BY(service_.mutex_) = false;
  bool is_over_ ABSL_GUARDED_BY(service_.mutex_) = false;
};

HealthService::HealthService(Admission* watches, Logger* logger)
    : rpc_("grpc.health.v1.Health", logger) {
  // A full server is healthy, so calls of Check are counted nowhere. They are answered at once,
  // with a few bytes, and hold no more than gRPC does for any call.
  rpc_.AddUnary("Check", {.role = Role::kHealth, .max_request_bytes = kMaxRequestBytes},
                [this](UnaryCall& call) { Check(call); });
  rpc_.AddStream(
      "Watch", {.role = Role::kHealth, .max_request_bytes = kMaxRequestBytes, .admission = watches},
      [this](StreamCall& call) { return std::make_unique<Watcher>(*this, call); });
}

HealthService::~HealthService() = default;

int HealthService::StatusOf(const std::string& service) const {
  const auto found = serving_.find(service);
  if (found == serving_.end()) return HealthCheckResponse::SERVICE_UNKNOWN;
  return found->second ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

void HealthService::Check(UnaryCall& call) {
  std::string name;
  if (absl::Status status = ReadName(call.request(), name); !status.ok()) {
    call.Finish(status);
    return;
  }
  int status = 0;
  {
    MutexLock lock(mutex_);
    status = StatusOf(name);
  }
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    call.Finish(absl::NotFoundError("The server has no such service."));
  } else {
    call.Finish(ResponseOf(status));
  }
}

void HealthService::SetServingStatus(const std::string& service, bool serving) {
  std::vector<Watcher*> held;
  {
    MutexLock lock(mutex_);
    serving_[service] = serving && !is_shut_down_;
    held = HoldWatchers();
  }
  Tell(held);
}

void HealthService::SetServingStatus(bool serving) {
  std::vector<Watcher*> held;
  {
    MutexLock lock(mutex_);
    for (auto& [name, value] : serving_) value = serving && !is_shut_down_;
    held = HoldWatchers();
  }
  Tell(held);
}

void HealthService::Shutdown() {
  {
    MutexLock lock(mutex_);
    is_shut_down_ = true;
  }
  SetServingStatus(false);
}

std::vector<HealthService::Watcher*> HealthService::HoldWatchers() {
  for (Watcher* watcher : watchers_) watcher->call().Hold();
  return {watchers_.begin(), watchers_.end()};
}

void HealthService::Tell(const std::vector<Watcher*>& held) {
  for (Watcher* watcher : held) {
    watcher->Tell();
    watcher->call().Release();
  }
}

}  // namespace opserve
