// File: client/client_impl.h
//
// The client behind the public class: deadlines and retries around single attempts. Thread-safe.

#ifndef OPSERVE_CLIENT_CLIENT_IMPL_H_
#define OPSERVE_CLIENT_CLIENT_IMPL_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/functional/function_ref.h"
#include "client/clock.h"
#include "client/retry.h"
#include "client/transport.h"
#include "opserve/client.h"

namespace opserve::client_internal {

class ClientImpl {
 public:
  ClientImpl(const ClientOptions& options, std::unique_ptr<Transport> transport,
             std::unique_ptr<Clock> clock)
      : options_(options), clock_(std::move(clock)), transport_(std::move(transport)) {}
  // Waits for all calls in flight.
  ~ClientImpl();

  // Waits until the server answers anything at all, for at most options.connect_timeout.
  absl::Status WaitForServer();

  absl::StatusOr<Tensor> Execute(const OperatorCall& call, const CallOptions& options,
                                 ExecutionInfo* info);
  void ExecuteAsync(const OperatorCall& call, ExecuteCallback done, const CallOptions& options);
  absl::StatusOr<Catalogue> ListOperators(absl::string_view name, absl::string_view feature_level,
                                          const CallOptions& options);
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& options);
  absl::StatusOr<std::vector<SelfTestReport>> SelfTestDevices(absl::string_view name,
                                                              const CallOptions& options);
  absl::StatusOr<HealthStatus> CheckHealth(absl::string_view service, const CallOptions& options);

 private:
  struct AsyncCall;

  RetryState StartRetries(const CallOptions& options);
  // Time to wait after a failed attempt, or nullopt where the failure is final.
  std::optional<absl::Duration> OnFailure(RetryState& retries, const absl::Status& status);
  // Runs attempts on this thread until one succeeds or a failure is final.
  absl::Status Retry(RetryState& retries,
                     absl::FunctionRef<absl::Status(absl::Duration timeout)> attempt);
  void StartAttempt(std::shared_ptr<AsyncCall> call);
  void OnAttemptDone(std::shared_ptr<AsyncCall> call, const absl::Status& status);

  const ClientOptions options_;
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Transport> transport_;
  // std::mutex, which ThreadSanitizer understands; the distributed Abseil is not instrumented.
  std::mutex mutex_;
  std::condition_variable idle_;
  int in_flight_ = 0;  // asynchronous calls; guarded by mutex_
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_CLIENT_IMPL_H_
