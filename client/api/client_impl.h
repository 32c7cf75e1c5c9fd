// File: client/api/client_impl.h
//
// The client behind the public class: deadlines and retries around single attempts. Thread-safe.

#ifndef OPSERVE_CLIENT_API_CLIENT_IMPL_H_
#define OPSERVE_CLIENT_API_CLIENT_IMPL_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "absl/functional/function_ref.h"
#include "client/base/clock.h"
#include "client/memory/shared_memory.h"
#include "client/rpc/retry.h"
#include "client/rpc/transport.h"
#include "client/stream/stream_core.h"
#include "client/wire/wire.h"
#include "google/protobuf/message.h"
#include "opserve/client.h"
#include "proto/base/host_buffers.h"

namespace opserve::client_internal {

class ClientImpl {
 public:
  ClientImpl(const ClientOptions& options, std::unique_ptr<Transport> transport,
             std::unique_ptr<Clock> clock)
      : options_(options),
        buffers_(options.idle_buffer_bytes),
        clock_(std::move(clock)),
        transport_(std::move(transport)) {}
  // Waits for all calls in flight.
  ~ClientImpl();

  // Waits until the server answers anything at all, for at most options.connect_timeout.
  absl::Status WaitForServer();

  absl::StatusOr<Tensor> Execute(const OperatorCall& call, const CallOptions& options,
                                 ExecutionInfo* info);
  absl::StatusOr<TensorSpec> ExecuteInto(const OperatorCall& call, std::span<std::byte> output,
                                         const CallOptions& options, ExecutionInfo* info);
  absl::StatusOr<TensorSpec> ExecuteTo(const OperatorCall& call, const TensorPlace& output,
                                       const CallOptions& options, ExecutionInfo* info);
  void ExecuteAsync(const OperatorCall& call, ExecuteCallback done, const CallOptions& options);
  // A stream that has begun.
  absl::StatusOr<std::shared_ptr<StreamCore>> OpenStream(const StreamOptions& options);
  absl::StatusOr<Catalogue> ListOperators(absl::string_view name, absl::string_view feature_level,
                                          const CallOptions& options);
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& options);
  absl::StatusOr<std::vector<SelfTestReport>> SelfTestDevices(absl::string_view name,
                                                              const CallOptions& options);
  absl::StatusOr<SharedRegion> CreateRegion(uint64_t bytes, const CallOptions& options);
  absl::StatusOr<HealthStatus> CheckHealth(absl::string_view service, const CallOptions& options);

  // What calls of all kinds are made of.

  RetryState StartRetries(const CallOptions& options, bool is_idempotent = true);
  // Makes attempts on this thread until one succeeds or a failure is final.
  absl::Status Call(const char* method, const OutgoingMessage& request, RetryState& retries,
                    ReceivedMessage& response);
  // The same for methods without payloads. DATA_LOSS where the response is no such message.
  absl::Status Call(const char* method, const google::protobuf::Message& request,
                    RetryState& retries, google::protobuf::Message& response);
  absl::Status Call(const char* method, const google::protobuf::Message& request,
                    const CallOptions& options, google::protobuf::Message& response);
  // A tensor whose bytes `fill` writes. RESOURCE_EXHAUSTED where there is no memory for it.
  absl::StatusOr<Tensor> MakeTensor(TensorSpec spec,
                                    absl::FunctionRef<absl::Status(std::span<std::byte>)> fill);
  // The output of a response as a tensor of its own.
  absl::StatusOr<Tensor> Gather(const ReceivedMessage& response, OutputPlace output);
  // Most bytes of a payload that fit into a message beside the rest. Asks the server once.
  absl::StatusOr<uint64_t> MaxPayloadBytes(RetryState& retries);

 private:
  struct AsyncCall;

  // Time to wait after a failed attempt, or nullopt where the failure is final.
  std::optional<absl::Duration> OnFailure(RetryState& retries, const absl::Status& status);
  // Runs `call` and finds its output in the response.
  absl::StatusOr<OutputPlace> Run(const OperatorCall& call, const CallOptions& options,
                                  ExecutionInfo* info, ReceivedMessage& response);
  void StartAttempt(std::shared_ptr<AsyncCall> call);
  void OnAttemptDone(std::shared_ptr<AsyncCall> call, const absl::Status& status);

  const ClientOptions options_;
  HostBufferPool buffers_;
  const std::unique_ptr<Clock> clock_;
  const std::unique_ptr<Transport> transport_;
  SharedMemory shared_memory_;
  std::atomic<uint64_t> max_payload_bytes_ = 0;  // 0: not known yet
  // std::mutex, which ThreadSanitizer understands; the distributed Abseil is not instrumented.
  std::mutex mutex_;
  std::condition_variable idle_;
  int in_flight_ = 0;  // asynchronous calls; guarded by mutex_
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_CLIENT_IMPL_H_
