// File: opserve/client.h
//
// Runs DirectML operators on an opserve server.
//
//   auto client = opserve::Client::Connect("gpu-host:50051");
//   if (!client.ok()) return client.status();
//   std::vector<float> x = {-1.5f, 0.5f, 2.5f};
//   auto y = (*client)->Execute({.operator_name = "ELEMENT_WISE_ROUND",
//                                .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
//                                .inputs = {TensorView::Of<float>(x, {3})}});
//   if (!y.ok()) return y.status();
//   for (float value : y->values<float>()) std::cout << value << '\n';  // -2 0 2
//
// No header of gRPC or protobuf is needed to use it.

#ifndef OPSERVE_CLIENT_H_
#define OPSERVE_CLIENT_H_

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "opserve/catalogue.h"
#include "opserve/devices.h"
#include "opserve/errors.h"
#include "opserve/options.h"
#include "opserve/tensor.h"

namespace opserve {

namespace client_internal {
class ClientImpl;
}  // namespace client_internal

class ExecuteStream;

// A value of an operator's attribute.
struct Attribute {
  std::string name;  // DirectML's member name
  // An enum value by name or number, an integer, or a float.
  std::variant<std::string, int64_t, double> value;
};

// Where a call wants to run.
enum class DevicePreference : uint8_t {
  kDefault = 0,  // as the server was told, kAuto unless it was
  kAuto = 1,     // whichever device is expected to answer first
  // A GPU; FAILED_PRECONDITION where the server has none. The CPU answers where no GPU can: it has
  // no kernel for the type, or all of them failed. ExecutionInfo::device tells.
  kGpu = 2,
  kCpu = 3,  // only the CPU
};

// How urgent a call is: while calls wait, more urgent ones go first.
enum class CallPriority : uint8_t { kLow = 1, kNormal = 2, kHigh = 3 };

// "DEFAULT", "AUTO", "GPU", "CPU".
absl::string_view NameOf(DevicePreference device);
// "LOW", "NORMAL", "HIGH".
absl::string_view NameOf(CallPriority priority);

// A call of one operator.
struct OperatorCall {
  std::string operator_name;  // "ELEMENT_WISE_ROUND"
  std::vector<Attribute> attributes = {};
  std::vector<TensorView> inputs = {};
  // Wanted layout of the result. Unset parts take the operator's type, the inputs' sizes and the
  // packed layout.
  std::optional<TensorSpec> output = {};
  // Feature level to validate against, such as "3_0"; empty: the highest.
  std::string feature_level = {};
  DevicePreference device = DevicePreference::kDefault;
  CallPriority priority = CallPriority::kNormal;
  // Has a GPU's result compared with the CPU's before it is sent; the right one is sent in any
  // case.
  bool verify = false;
  // Written to the server's logs; at most 128 bytes.
  std::string request_id = {};
};

// How a call was run.
struct ExecutionInfo {
  std::string device;         // as listed by GetServerInfo
  uint32_t batch_size = 0;    // requests that ran together with this one, itself included
  absl::Duration queue_time;  // from acceptance until the operator started
  absl::Duration run_time;    // of the operator
  uint32_t attempts = 0;      // runs that the server started for it; above 1: a device failed
  bool verified = false;      // whether the result was compared with the CPU's
  int sends = 0;              // how often the client sent it; above 1: see RetryPolicy
};

// Receives the outcome of an asynchronous call; `info` lives until it returns.
using ExecuteCallback =
    absl::AnyInvocable<void(absl::StatusOr<Tensor> output, const ExecutionInfo& info) &&>;

// A connection to one server. Thread-safe; one client serves a whole program, and any number of
// calls may be in flight.
//
// Errors keep the server's code and message; errors.h decodes the rest. Beside those of the server,
// calls fail with DEADLINE_EXCEEDED when their time is up, UNAVAILABLE when the server cannot be
// reached, and DATA_LOSS when a response contradicts itself.
//
// Memory. Inputs are sent from where they lie. When a call is over, by its return, its callback or
// its future, nothing refers to their memory any more, whatever the outcome; until then it must
// stay valid and unchanged. So a call may outlive its deadline: where the socket has not taken what
// is being written 100 ms later, the connection is shut down and made anew, and other calls in
// flight on it fail with UNAVAILABLE, which is retried. Threads of gRPC may take seconds to notice,
// usually at most 10, before such a call is over.
class Client {
 public:
  // Connects to "host:port" or "unix:/path". INVALID_ARGUMENT for a malformed target or options,
  // UNAVAILABLE or DEADLINE_EXCEEDED if there is no connection after options.connect_timeout.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(absl::string_view target,
                                                         const ClientOptions& options = {});

  // Waits for all calls in flight; their deadlines bound the wait. Not to be called by a callback.
  // Streams must be gone before.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Runs `call` and waits for its result, whose memory is aligned to 64 bytes and, once the last
  // copy of the tensor is gone, used again: see ClientOptions::idle_buffer_bytes. A result may
  // outlive the client. Where `info` is given it tells how the call was run.
  absl::StatusOr<Tensor> Execute(const OperatorCall& call, const CallOptions& options = {},
                                 ExecutionInfo* info = nullptr);

  // The same with the result in `output`, at any alignment. INVALID_ARGUMENT unless that has
  // exactly the bytes of the result. It is written only where the call succeeds, and after the
  // inputs are not needed any more, so it may be the memory of an input. Returns the result's
  // layout.
  absl::StatusOr<TensorSpec> ExecuteInto(const OperatorCall& call, std::span<std::byte> output,
                                         const CallOptions& options = {},
                                         ExecutionInfo* info = nullptr);

  // Starts `call`. `done` runs exactly once, on a thread of the client, possibly before this
  // returns; it must not block. The memory behind the inputs must stay valid and unchanged until
  // it runs; `call` itself need not.
  void ExecuteAsync(const OperatorCall& call, ExecuteCallback done,
                    const CallOptions& options = {});

  // Starts `call` and returns its future result. The memory behind the inputs must stay valid and
  // unchanged until the future is ready.
  std::future<absl::StatusOr<Tensor>> ExecuteFuture(const OperatorCall& call,
                                                    const CallOptions& options = {});

  // Opens a stream for many calls: see stream.h, which has to be included. INVALID_ARGUMENT for
  // options that cannot be; whether the server can be reached shows in the first request.
  absl::StatusOr<std::unique_ptr<ExecuteStream>> OpenStream(const StreamOptions& options = {});

  // The operator called `name`, or all if that is empty; NOT_FOUND with the nearest names. A
  // feature level leaves out what it does not offer.
  absl::StatusOr<Catalogue> ListOperators(absl::string_view name = "",
                                          absl::string_view feature_level = "",
                                          const CallOptions& options = {});

  // Version, devices with their state and counters, and limits.
  absl::StatusOr<ServerInfo> GetServerInfo(const CallOptions& options = {});

  // Runs the known-answer test on the GPU called `name`, or on all GPUs if that is empty, while
  // they serve. One report per GPU; none where the server has no GPU. NOT_FOUND if none has the
  // name, RESOURCE_EXHAUSTED while another test runs. A test that fails is no error: see
  // SelfTestReport::passed.
  absl::StatusOr<std::vector<SelfTestReport>> SelfTestDevices(absl::string_view name = "",
                                                              const CallOptions& options = {});

  // Health of a service; empty: of the whole server. NOT_FOUND for services it does not know.
  absl::StatusOr<HealthStatus> CheckHealth(absl::string_view service = "",
                                           const CallOptions& options = {});

 private:
  explicit Client(std::unique_ptr<client_internal::ClientImpl> impl);

  std::unique_ptr<client_internal::ClientImpl> impl_;
};

}  // namespace opserve

#endif  // OPSERVE_CLIENT_H_
