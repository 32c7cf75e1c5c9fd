// File: opserve/client.h
//
// Runs DirectML operators on an opserve server.
//
//   auto client = opserve::Client::Connect("gpu-host:50051");
//   if (!client.ok()) return client.status();
//   std::vector<float> x = {-1.5f, 0.5f, 2.5f};
//   auto y = (*client)->Execute({.operator_name = "ELEMENT_WISE_ROUND",
//                                .attributes = {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}},
//                                .inputs = {TensorView::Of<float>(x, {3})}});  // or see ops.h
//   if (!y.ok()) return y.status();
//   const auto values = y->Elements<float>();
//   if (!values.ok()) return values.status();
//   for (float value : *values) std::cout << value << '\n';  // -2 0 2
//
// No header of gRPC or protobuf is needed to use it.

#ifndef OPSERVE_CLIENT_H_
#define OPSERVE_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "opserve/call.h"
#include "opserve/call_handle.h"
#include "opserve/catalogue.h"
#include "opserve/compare.h"
#include "opserve/device_lease.h"
#include "opserve/devices.h"
#include "opserve/errors.h"
#include "opserve/options.h"
#include "opserve/place.h"
#include "opserve/resident.h"
#include "opserve/sequence.h"
#include "opserve/shared_memory.h"
#include "opserve/tensor.h"

namespace opserve {

namespace client_internal {
class ClientImpl;
}  // namespace client_internal

class ExecuteStream;

// Receives the outcome of a call of one operator.
using ExecuteCallback = CallCallback<Tensor>;
// Receives the outcome of a sequence.
using SequenceCallback = CallCallback<std::vector<SequenceResult>>;

// A connection to one server. Thread-safe; one client serves a whole program, and any number of
// calls may be in flight.
//
// Errors keep the server's code and message; errors.h decodes the rest. Beside those of the server,
// calls fail with DEADLINE_EXCEEDED when their time is up, CANCELLED where Call::Cancel gave them
// up, UNAVAILABLE when the server cannot be reached, and DATA_LOSS when a response contradicts
// itself.
//
// Memory. Inputs are sent from where they lie, or copied once to memory that is shared with a
// server on this machine: see ClientOptions::max_shared_bytes. When a call is over, by its return,
// its callback or its handle, nothing refers to their memory any more, whatever the outcome; until
// then it must stay valid and unchanged. So a call may outlive its deadline, or its being
// cancelled: where the socket has not taken what is being written 100 ms later, or 1 s where inputs
// below 16 KiB are all that it sends, the connection is shut down and made anew, and other calls in
// flight on it fail with UNAVAILABLE, which is retried.
// Threads of gRPC may take seconds to notice, usually at most 10, before such a call is over.
class Client {
 public:
  // Connects to "host:port" or "unix:/path". Several of these with commas between them are one
  // target, as is "dns:///name:port", which is all hosts of a name: calls go to them in turn, and
  // to another one where one fails; those about a tensor, region or lease go to its host. Then it
  // is enough that one of them answers. Socket files have plain text, also where options.tls is
  // set. INVALID_ARGUMENT for a malformed target or options,
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

  // The same with elements of a type, such as `std::span(floats)`. The result has that type where
  // the operator leaves it open; INVALID_ARGUMENT where it must have another one.
  template <TensorElement T>
  absl::StatusOr<TensorSpec> ExecuteInto(const OperatorCall& call, std::span<T> output,
                                         const CallOptions& options = {},
                                         ExecutionInfo* info = nullptr) {
    const absl::StatusOr<OperatorCall> typed = WithResultType(call, kDataTypeOf<T>);
    if (!typed.ok()) return typed.status();
    return ExecuteInto(*typed, std::as_writable_bytes(output), options, info);
  }

  // The same with the result at `output`: in a region, as many bytes from a multiple of 64 on, or
  // in a resident tensor of exactly the result's type and layout, which is replaced. It may be the
  // place of an input where the operator can work in place (OperatorInfo::in_place). Such a call
  // must not run twice, so it is retried only after errors that say when (GetRetryDelay in
  // errors.h), or that a host lacks something (RetryPolicy), and after others, such as UNAVAILABLE,
  // it may have run or not. After an error the bytes in a region are undefined; a resident tensor
  // is as it was, or holds the result.
  absl::StatusOr<TensorSpec> ExecuteTo(const OperatorCall& call, const TensorPlace& output,
                                       const CallOptions& options = {},
                                       ExecutionInfo* info = nullptr);

  // Runs `call` and compares `actual`, another device's result of the same call, with its result:
  // see compare.h. `call` decides which device of the server is the measure; kCpu is exact.
  // INVALID_ARGUMENT also where `actual` has another type or other sizes than the result, or its
  // bytes are not here. Takes memory for one result.
  absl::StatusOr<Comparison> Compare(const OperatorCall& call, const TensorView& actual,
                                     const ComparisonOptions& comparison = {},
                                     const CallOptions& options = {},
                                     ExecutionInfo* info = nullptr);

  // The Start... functions start a call and return its handle, see call_handle.h: it waits for the
  // call, cancels it, or runs a callback at its end. The memory behind tensors must stay valid and
  // unchanged until the call is over; other arguments need not. All else is as with the functions
  // without Start. Whatever asks the server has one, but for CreateRegion, which works on memory of
  // this machine, and Compare, which is Execute and, on this thread, CompareTensors.
  Call<Tensor> StartExecute(const OperatorCall& call, const CallOptions& options = {});
  Call<TensorSpec> StartExecuteInto(const OperatorCall& call, std::span<std::byte> output,
                                    const CallOptions& options = {});
  Call<TensorSpec> StartExecuteTo(const OperatorCall& call, const TensorPlace& output,
                                  const CallOptions& options = {});
  Call<std::vector<SequenceResult>> StartExecuteSequence(const OperatorSequence& sequence,
                                                         const CallOptions& options = {});
  // A creation that is cancelled may leave a tensor that nobody knows, until its lease ends.
  Call<TensorLease> StartCreateTensor(const TensorView& content,
                                      const ResidentOptions& resident = {},
                                      const CallOptions& options = {});
  Call<TensorLease> StartCreateTensor(const TensorSpec& spec, const ResidentOptions& resident = {},
                                      const CallOptions& options = {});
  Call<void> StartWriteTensor(const TensorHandle& tensor, uint64_t offset,
                              std::span<const std::byte> bytes, const CallOptions& options = {});
  Call<Tensor> StartReadTensor(const TensorHandle& tensor, const CallOptions& options = {});
  Call<void> StartReadTensorInto(const TensorHandle& tensor, uint64_t offset,
                                 std::span<std::byte> target, const CallOptions& options = {});
  Call<absl::Duration> StartRenewTensors(const std::vector<TensorHandle>& tensors,
                                         absl::Duration ttl = absl::ZeroDuration(),
                                         const CallOptions& options = {});
  Call<uint32_t> StartDeleteTensors(const std::vector<TensorHandle>& tensors,
                                    const CallOptions& options = {});
  Call<ResidentTensorList> StartListTensors(const CallOptions& options = {});
  Call<Catalogue> StartListOperators(absl::string_view name = "",
                                     absl::string_view feature_level = "",
                                     const CallOptions& options = {});
  Call<ServerInfo> StartGetServerInfo(const CallOptions& options = {});
  Call<std::vector<SelfTestReport>> StartSelfTestDevices(absl::string_view name = "",
                                                         const CallOptions& options = {});
  Call<absl::Duration> StartRenewLease(absl::string_view id,
                                       absl::Duration time = absl::ZeroDuration(),
                                       const CallOptions& options = {});
  Call<std::vector<DeviceLeaseInfo>> StartListLeases(const CallOptions& options = {});
  Call<void> StartEndLease(uint64_t number, const CallOptions& options = {});
  Call<void> StartSetDeviceAside(absl::string_view device, absl::string_view reason,
                                 const CallOptions& options = {});
  // Cancelling it ends the wait; the GPU may be set aside all the same.
  Call<void> StartDrainDevice(absl::string_view device, absl::string_view reason,
                              const CallOptions& options = {});
  Call<void> StartResumeDevice(absl::string_view device, const CallOptions& options = {});
  Call<HealthStatus> StartCheckHealth(absl::string_view service = "",
                                      const CallOptions& options = {});

  // StartExecute, with `done` at its end: it runs exactly once, on a thread of the client or, where
  // the call is over already, on this one; it must not block, since other started calls end there.
  void ExecuteAsync(const OperatorCall& call, ExecuteCallback done,
                    const CallOptions& options = {});

  // Deprecated: StartExecute returns a handle that can do more. Its future result.
  std::future<absl::StatusOr<Tensor>> ExecuteFuture(const OperatorCall& call,
                                                    const CallOptions& options = {});

  // Opens a stream for many calls: see stream.h, which has to be included. INVALID_ARGUMENT for
  // options that cannot be; whether the server can be reached shows in the first request.
  absl::StatusOr<std::unique_ptr<ExecuteStream>> OpenStream(const StreamOptions& options = {});

  // Runs the steps of `sequence` in one call: see sequence.h. Results in the order of its outputs.
  // Where an output goes to the place of an input, retries are those of ExecuteTo.
  absl::StatusOr<std::vector<SequenceResult>> ExecuteSequence(const OperatorSequence& sequence,
                                                              const CallOptions& options = {},
                                                              ExecutionInfo* info = nullptr);

  // Keeps a tensor at the server, with a copy of `content`: see resident.h. RESOURCE_EXHAUSTED
  // where this client keeps as much as it may. A tensor larger than a message travels in pieces,
  // here and below. Not idempotent: a retry after UNAVAILABLE may leave a tensor that nobody knows,
  // until its lease ends.
  absl::StatusOr<TensorLease> CreateTensor(const TensorView& content,
                                           const ResidentOptions& resident = {},
                                           const CallOptions& options = {});

  // The same with zeros, which do not travel.
  absl::StatusOr<TensorLease> CreateTensor(const TensorSpec& spec,
                                           const ResidentOptions& resident = {},
                                           const CallOptions& options = {});

  // Replaces bytes of a resident tensor, from byte `offset` on. NOT_FOUND where this client has no
  // such tensor, as with all calls about one. Calls see each piece of a message as a whole, or not
  // at all; after an error some pieces may have been written.
  absl::Status WriteTensor(const TensorHandle& tensor, uint64_t offset,
                           std::span<const std::byte> bytes, const CallOptions& options = {});

  // A copy of a resident tensor, in memory like that of a result.
  absl::StatusOr<Tensor> ReadTensor(const TensorHandle& tensor, const CallOptions& options = {});

  // Fills `target` with bytes of a resident tensor, from byte `offset` on. After an error `target`
  // holds anything.
  absl::Status ReadTensorInto(const TensorHandle& tensor, uint64_t offset,
                              std::span<std::byte> target, const CallOptions& options = {});

  // Has the leases of resident tensors end `ttl` from now on, rounded up to seconds; 0: when the
  // server likes. Returns what it granted. NOT_FOUND names the first tensor that there is not; the
  // others are renewed all the same.
  absl::StatusOr<absl::Duration> RenewTensors(const std::vector<TensorHandle>& tensors,
                                              absl::Duration ttl = absl::ZeroDuration(),
                                              const CallOptions& options = {});

  // Gives resident tensors up; calls that use them already are not affected. Returns how many of
  // them there were.
  absl::StatusOr<uint32_t> DeleteTensors(const std::vector<TensorHandle>& tensors,
                                         const CallOptions& options = {});

  // The resident tensors of this client.
  absl::StatusOr<ResidentTensorList> ListTensors(const CallOptions& options = {});

  // Makes memory of `bytes` bytes that this program shares with a server on the same machine: see
  // shared_memory.h. All its pages are taken at once. FAILED_PRECONDITION where the server shares
  // no memory, UNAVAILABLE where its socket cannot be reached, such as from another machine,
  // RESOURCE_EXHAUSTED where the client shares as much as it may or there is no memory.
  absl::StatusOr<SharedRegion> CreateRegion(uint64_t bytes, const CallOptions& options = {});

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

  // Asks for a GPU for this program alone: see device_lease.h. Returns at once; the lease waits for
  // its turn.
  std::unique_ptr<DeviceLease> LeaseDevice(const DeviceLeaseOptions& lease = {});

  // Has the lease of that id end `time` from now on: see DeviceLease::Renew. For programs that got
  // the id from another one.
  absl::StatusOr<absl::Duration> RenewLease(absl::string_view id,
                                            absl::Duration time = absl::ZeroDuration(),
                                            const CallOptions& options = {});

  // Administration of the server, which may ask for more rights than other calls.

  // The leases of devices: those that hold one, then those that wait, in the order of their turns.
  absl::StatusOr<std::vector<DeviceLeaseInfo>> ListLeases(const CallOptions& options = {});
  // Ends a lease, or takes it out of the queue. NOT_FOUND where there is none of that number.
  absl::Status EndLease(uint64_t number, const CallOptions& options = {});
  // Has a GPU take no more requests until it is resumed. What it works on is answered, what waits
  // for it runs elsewhere, a lease of it ends. `reason`, at most 128 bytes, is
  // DeviceInfo::state_reason. NOT_FOUND where there is no such GPU.
  absl::Status SetDeviceAside(absl::string_view device, absl::string_view reason,
                              const CallOptions& options = {});
  // The same, and waits until nothing runs on it any more. After DEADLINE_EXCEEDED it is set aside
  // all the same. ABORTED where it is resumed before.
  absl::Status DrainDevice(absl::string_view device, absl::string_view reason,
                           const CallOptions& options = {});
  // Ends that. OK also where it was not set aside.
  absl::Status ResumeDevice(absl::string_view device, const CallOptions& options = {});

  // Health of a service; empty: of the whole server. NOT_FOUND for services it does not know.
  absl::StatusOr<HealthStatus> CheckHealth(absl::string_view service = "",
                                           const CallOptions& options = {});

 private:
  // The call, with that type for its result. INVALID_ARGUMENT where it wants another one.
  static absl::StatusOr<OperatorCall> WithResultType(OperatorCall call, DataType type);

  explicit Client(std::unique_ptr<client_internal::ClientImpl> impl);

  std::unique_ptr<client_internal::ClientImpl> impl_;
};

}  // namespace opserve

#endif  // OPSERVE_CLIENT_H_
