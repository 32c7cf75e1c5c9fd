// File: client/api/client_impl.h
//
// The client behind the public class: deadlines and retries around single attempts. Thread-safe.

#ifndef OPSERVE_CLIENT_API_CLIENT_IMPL_H_
#define OPSERVE_CLIENT_API_CLIENT_IMPL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "client/api/operation.h"
#include "client/api/staging.h"
#include "client/base/clock.h"
#include "client/memory/shared_memory.h"
#include "client/rpc/retry.h"
#include "client/rpc/transport.h"
#include "client/stream/stream_core.h"
#include "client/wire/wire.h"
#include "google/protobuf/message.h"
#include "opserve/client.h"
#include "opserve/place.h"
#include "proto/base/host_buffers.h"
#include "proto/base/mutex.h"

namespace opserve::client_internal {

class ClientImpl {
 public:
  // `is_local`: whether the server is on this machine, as far as its address tells.
  ClientImpl(const ClientOptions& options, std::unique_ptr<Transport> transport,
             std::unique_ptr<ClientClock> clock, bool is_local = false)
      : options_(options),
        buffers_(options.idle_buffer_bytes),
        clock_(std::move(clock)),
        transport_(std::move(transport)),
        staging_(is_local ? options.max_shared_bytes : 0, shared_memory_, *clock_) {}
  // Waits for all calls in flight.
  ~ClientImpl();

  // Waits until the server answers anything at all, for at most options.connect_timeout.
  absl::Status WaitForServer();

  // Runs an operation on this thread. Where `info` is given it tells how it was run.
  template <class T>
  CallResult<T> Run(Operation<T> operation, ExecutionInfo* info = nullptr) {
    Answer answer;
    while (auto* const step = std::get_if<Step<T>>(&operation.next)) {
      operation.retries.StartOver(step->may_run_twice, step->attempts_before);
      answer = Invoke(step->method, step->message, operation.retries);
      Next<T> next = step->then(answer);
      operation.next = std::move(next);
    }
    if (info != nullptr) *info = std::move(answer.info);
    return std::get<CallResult<T>>(std::move(operation.next));
  }

  // Starts an operation, which goes on, on threads of the client, when the handle is gone.
  template <class T>
  opserve::Call<T> Start(Operation<T> operation) {
    auto state = std::make_shared<CallState<T>>();
    BeginAsync();
    Continue<T>(std::move(operation.next), operation.retries, state, {});
    return opserve::Call<T>(std::move(state));
  }

  // A stream that has begun.
  absl::StatusOr<std::shared_ptr<StreamCore>> OpenStream(const StreamOptions& options);
  // A stream of `method` that lasts as long as it likes, to be started.
  std::unique_ptr<RawStream> OpenRawStream(const char* method, Route& route) {
    return transport_->OpenStream(method, absl::InfiniteDuration(), /*host=*/{}, route);
  }
  Operation<Catalogue> ListOperators(absl::string_view name, absl::string_view feature_level,
                                     const CallOptions& options);
  Operation<ServerInfo> GetServerInfo(const CallOptions& options);
  Operation<std::vector<SelfTestReport>> SelfTestDevices(absl::string_view name,
                                                         const CallOptions& options);
  Operation<HealthStatus> CheckHealth(absl::string_view service, const CallOptions& options);
  absl::StatusOr<SharedRegion> CreateRegion(uint64_t bytes, const CallOptions& options);

  // What calls of all kinds are made of.

  RetryState StartRetries(const CallOptions& options, bool is_idempotent = true);
  // Makes attempts on this thread until one succeeds or a failure is final.
  Answer Invoke(const char* method, const OutgoingMessage& request, RetryState& retries);
  // A call of one message without payloads, which ends with what `wanted` makes of the answer.
  // DATA_LOSS where that is no Response. It is about `id`, where that is not empty: its host
  // answers.
  template <class Response, class Wanted>
  auto Ask(const char* method, const google::protobuf::Message& request, const CallOptions& options,
           Wanted wanted, absl::string_view id = {}) {
    using T = std::invoke_result_t<Wanted, const Response&>;
    const auto read = [wanted = std::move(wanted)](Answer& answer) -> Next<T> {
      if (!answer.status.ok()) return answer.status;
      Response response;
      absl::Status parsed = Parse(answer.message, response);
      if (!parsed.ok()) return parsed;
      if constexpr (std::is_void_v<T>) {
        wanted(response);
        return absl::OkStatus();
      } else {
        return wanted(response);
      }
    };
    OutgoingMessage message = {request.SerializeAsString()};
    message.host = std::string(HostOf(id));
    return Operation<T>{StartRetries(options), Step<T>{method, std::move(message), read}};
  }
  // The same for what is about a single host. ONE_HOST_NEEDED where there may be several.
  template <class Response, class Wanted>
  auto AskOne(const char* method, const google::protobuf::Message& request,
              const CallOptions& options, Wanted wanted) {
    auto operation = Ask<Response>(method, request, options, std::move(wanted));
    absl::Status one = CheckOneHost();
    if (!one.ok()) operation.next = std::move(one);
    return operation;
  }
  // Takes note of where something is that host number `number` of the transport has given this id.
  // HOST_NOT_ADVERTISED where nobody could find it again.
  absl::Status LearnHost(absl::string_view id, size_t number);
  // Memory for a tensor. RESOURCE_EXHAUSTED where there is none.
  absl::StatusOr<std::shared_ptr<const HostBuffer>> TakeBuffer(const TensorSpec& spec);
  // The output of a response as a tensor of its own.
  absl::StatusOr<Tensor> Gather(const ResponseMessage& response, ReceivedOutput output);
  // Goes on with what the server tells of itself, or the error with which it does not. `host`: as
  // OutgoingMessage::host.
  template <class T>
  Next<T> WithServerInfo(std::function<Next<T>(const absl::StatusOr<ServerInfo>& info)> then,
                         const std::string& host = {}) {
    return Step<T>{kGetServerInfo,
                   {.header = {}, .host = host},
                   [then = std::move(then)](Answer& answer) -> Next<T> {
                     return then(ReadServerInfo(answer));
                   }};
  }
  // Goes on with the most bytes of a payload that fit into a message to `host` beside the rest, or
  // the error with which that does not tell. Asks each host once; `host`: as OutgoingMessage::host.
  template <class T>
  Next<T> WithMaxPayload(const std::string& host,
                         std::function<Next<T>(const absl::StatusOr<uint64_t>& bytes)> then) {
    if (const uint64_t known = MaxPayloadOf(host); known > 0) return then(known);
    const auto learn = [this, host, then](const absl::StatusOr<ServerInfo>& info) -> Next<T> {
      if (!info.ok()) return then(info.status());
      return then(LearnMaxPayload(host, info->limits));
    };
    return WithServerInfo<T>(learn, host);
  }
  // Takes note that `host` refused a payload of so many bytes: where it was to take them, it is
  // asked anew.
  void OnRefusedPayload(const std::string& host, uint64_t bytes);
  // How large tensors come to a server on the same machine.
  Staging& staging() { return staging_; }

 private:
  static constexpr char kGetServerInfo[] = "/opserve.v1.OperatorService/GetServerInfo";

  // A message that is sent asynchronously, and what to do with its answer.
  struct AsyncStep {
    const char* method;
    OutgoingMessage request;
    RetryState retries;
    std::shared_ptr<Cancellation> cancellation;
    std::function<void(AsyncStep&)> then;
    Answer answer = {};
  };

  // ONE_HOST_NEEDED where there may be several hosts.
  absl::Status CheckOneHost() const;
  // Time to wait after a failed attempt, or nullopt where the failure is final; then `status` also
  // has what other hosts said.
  std::optional<absl::Duration> OnFailure(RetryState& retries, absl::Status& status);
  static absl::StatusOr<ServerInfo> ReadServerInfo(const Answer& answer);
  // 0: not known.
  uint64_t MaxPayloadOf(const std::string& host);
  uint64_t LearnMaxPayload(const std::string& host, const ServerLimits& limits);

  template <class T>
  void Continue(Next<T> next, RetryState retries, std::shared_ptr<CallState<T>> state,
                const ExecutionInfo& info) {
    auto* const step = std::get_if<Step<T>>(&next);
    if (step == nullptr) {
      state->Finish(std::get<CallResult<T>>(std::move(next)), info);
      return EndAsync();
    }
    retries.StartOver(step->may_run_twice, step->attempts_before);
    StartAttempt(std::make_shared<AsyncStep>(
        AsyncStep{step->method, std::move(step->message), retries, state,
                  [this, state, then = std::move(step->then)](AsyncStep& done) {
                    Next<T> following = then(done.answer);
                    Continue<T>(std::move(following), done.retries, state, done.answer.info);
                  }}));
  }
  void StartAttempt(std::shared_ptr<AsyncStep> step);
  void OnAttemptDone(const std::shared_ptr<AsyncStep>& step, absl::Status status);
  // Starts the next attempt after `wait`, or gives up once the call is cancelled.
  void WaitForAttempt(const std::shared_ptr<AsyncStep>& step, absl::Duration wait);
  static void OnAnswer(AsyncStep& step, absl::Status status);
  void BeginAsync();
  void EndAsync();

  const ClientOptions options_;
  HostBufferPool buffers_;
  const std::unique_ptr<ClientClock> clock_;
  const std::unique_ptr<Transport> transport_;
  SharedMemory shared_memory_;
  Staging staging_;
  // Number of the host that regions are registered with: later ones take the connection of the
  // first, and ask nobody.
  std::atomic<size_t> region_host_ = 0;
  Mutex mutex_;
  CondVar idle_;
  // Calls of Start.
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  // By the name of the host; under the empty name, of whichever host was asked.
  std::map<std::string, uint64_t> max_payload_bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace opserve::client_internal

#endif  // OPSERVE_CLIENT_API_CLIENT_IMPL_H_
