#include "opserve/client.h"

#include "absl/strings/str_cat.h"
#include "client/api/client_impl.h"
#include "client/api/execute.h"
#include "client/api/future.h"
#include "client/api/leases.h"
#include "client/api/resident.h"
#include "client/api/sequence.h"
#include "client/rpc/target.h"
#include "opserve/stream.h"

namespace opserve {

absl::string_view NameOf(DevicePreference device) {
  switch (device) {
    case DevicePreference::kAuto:
      return "AUTO";
    case DevicePreference::kGpu:
      return "GPU";
    case DevicePreference::kCpu:
      return "CPU";
    case DevicePreference::kDefault:
      break;
  }
  return "DEFAULT";
}

absl::string_view NameOf(CallPriority priority) {
  switch (priority) {
    case CallPriority::kLow:
      return "LOW";
    case CallPriority::kHigh:
      return "HIGH";
    case CallPriority::kNormal:
      break;
  }
  return "NORMAL";
}

absl::string_view NameOf(PayloadPath path) {
  return path == PayloadPath::kSharedMemory ? "SHARED_MEMORY" : "MESSAGE";
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(absl::string_view target,
                                                        const ClientOptions& options) {
  auto transport = client_internal::MakeGrpcTransport(target, options);
  if (!transport.ok()) return transport.status();
  // A region is of one host, so calls that go to several in turn cannot use it.
  const bool is_local = !(*transport)->HasSeveralHosts() && client_internal::IsLocal(target);
  auto impl = std::make_unique<client_internal::ClientImpl>(
      options, *std::move(transport), client_internal::MakeSteadyClock(), is_local);
  const absl::Status reached = impl->WaitForServer();
  if (!reached.ok()) return reached;
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

Client::Client(std::unique_ptr<client_internal::ClientImpl> impl) : impl_(std::move(impl)) {}

Client::~Client() = default;

absl::StatusOr<Tensor> Client::Execute(const OperatorCall& call, const CallOptions& options,
                                       ExecutionInfo* info) {
  return impl_->Run(
      client_internal::Execute(*impl_, call, options, client_internal::Waiter::kCaller), info);
}

Call<Tensor> Client::StartExecute(const OperatorCall& call, const CallOptions& options) {
  return impl_->Start(
      client_internal::Execute(*impl_, call, options, client_internal::Waiter::kNobody));
}

absl::StatusOr<TensorSpec> Client::ExecuteInto(const OperatorCall& call,
                                               std::span<std::byte> output,
                                               const CallOptions& options, ExecutionInfo* info) {
  return impl_->Run(
      client_internal::ExecuteInto(*impl_, call, output, options, client_internal::Waiter::kCaller),
      info);
}

absl::StatusOr<OperatorCall> Client::WithResultType(OperatorCall call, DataType type) {
  if (!call.output) call.output.emplace();
  if (call.output->data_type == DataType::kUnknown) call.output->data_type = type;
  if (call.output->data_type == type) return call;
  return absl::InvalidArgumentError(absl::StrCat("there is room for ", std::string(NameOf(type)),
                                                 ", but the call wants ",
                                                 std::string(NameOf(call.output->data_type))));
}

Call<TensorSpec> Client::StartExecuteInto(const OperatorCall& call, std::span<std::byte> output,
                                          const CallOptions& options) {
  return impl_->Start(client_internal::ExecuteInto(*impl_, call, output, options,
                                                   client_internal::Waiter::kNobody));
}

absl::StatusOr<TensorSpec> Client::ExecuteTo(const OperatorCall& call, const TensorPlace& output,
                                             const CallOptions& options, ExecutionInfo* info) {
  return impl_->Run(client_internal::ExecuteTo(*impl_, call, output, options), info);
}

Call<TensorSpec> Client::StartExecuteTo(const OperatorCall& call, const TensorPlace& output,
                                        const CallOptions& options) {
  return impl_->Start(client_internal::ExecuteTo(*impl_, call, output, options));
}

absl::StatusOr<Comparison> Client::Compare(const OperatorCall& call, const TensorView& actual,
                                           const ComparisonOptions& comparison,
                                           const CallOptions& options, ExecutionInfo* info) {
  const absl::StatusOr<Tensor> expected = Execute(call, options, info);
  if (!expected.ok()) return expected.status();
  return CompareTensors(expected->view(), actual, call.inputs, comparison);
}

absl::StatusOr<std::vector<SequenceResult>> Client::ExecuteSequence(
    const OperatorSequence& sequence, const CallOptions& options, ExecutionInfo* info) {
  return impl_->Run(client_internal::ExecuteSequence(*impl_, sequence, options), info);
}

Call<std::vector<SequenceResult>> Client::StartExecuteSequence(const OperatorSequence& sequence,
                                                               const CallOptions& options) {
  return impl_->Start(client_internal::ExecuteSequence(*impl_, sequence, options));
}

absl::StatusOr<TensorLease> Client::CreateTensor(const TensorView& content,
                                                 const ResidentOptions& resident,
                                                 const CallOptions& options) {
  return impl_->Run(client_internal::CreateTensor(*impl_, content, resident, options));
}

Call<TensorLease> Client::StartCreateTensor(const TensorView& content,
                                            const ResidentOptions& resident,
                                            const CallOptions& options) {
  return impl_->Start(client_internal::CreateTensor(*impl_, content, resident, options));
}

absl::StatusOr<TensorLease> Client::CreateTensor(const TensorSpec& spec,
                                                 const ResidentOptions& resident,
                                                 const CallOptions& options) {
  return impl_->Run(client_internal::CreateTensor(*impl_, spec, resident, options));
}

Call<TensorLease> Client::StartCreateTensor(const TensorSpec& spec, const ResidentOptions& resident,
                                            const CallOptions& options) {
  return impl_->Start(client_internal::CreateTensor(*impl_, spec, resident, options));
}

absl::Status Client::WriteTensor(const TensorHandle& tensor, uint64_t offset,
                                 std::span<const std::byte> bytes, const CallOptions& options) {
  return impl_->Run(client_internal::WriteTensor(*impl_, tensor, offset, bytes, options));
}

Call<void> Client::StartWriteTensor(const TensorHandle& tensor, uint64_t offset,
                                    std::span<const std::byte> bytes, const CallOptions& options) {
  return impl_->Start(client_internal::WriteTensor(*impl_, tensor, offset, bytes, options));
}

absl::StatusOr<Tensor> Client::ReadTensor(const TensorHandle& tensor, const CallOptions& options) {
  return impl_->Run(client_internal::ReadTensor(*impl_, tensor, options));
}

Call<Tensor> Client::StartReadTensor(const TensorHandle& tensor, const CallOptions& options) {
  return impl_->Start(client_internal::ReadTensor(*impl_, tensor, options));
}

absl::Status Client::ReadTensorInto(const TensorHandle& tensor, uint64_t offset,
                                    std::span<std::byte> target, const CallOptions& options) {
  return impl_->Run(client_internal::ReadTensorInto(*impl_, tensor, offset, target, options));
}

Call<void> Client::StartReadTensorInto(const TensorHandle& tensor, uint64_t offset,
                                       std::span<std::byte> target, const CallOptions& options) {
  return impl_->Start(client_internal::ReadTensorInto(*impl_, tensor, offset, target, options));
}

absl::StatusOr<absl::Duration> Client::RenewTensors(const std::vector<TensorHandle>& tensors,
                                                    absl::Duration ttl,
                                                    const CallOptions& options) {
  return impl_->Run(client_internal::RenewTensors(*impl_, tensors, ttl, options));
}

Call<absl::Duration> Client::StartRenewTensors(const std::vector<TensorHandle>& tensors,
                                               absl::Duration ttl, const CallOptions& options) {
  return impl_->Start(client_internal::RenewTensors(*impl_, tensors, ttl, options));
}

absl::StatusOr<uint32_t> Client::DeleteTensors(const std::vector<TensorHandle>& tensors,
                                               const CallOptions& options) {
  return impl_->Run(client_internal::DeleteTensors(*impl_, tensors, options));
}

Call<uint32_t> Client::StartDeleteTensors(const std::vector<TensorHandle>& tensors,
                                          const CallOptions& options) {
  return impl_->Start(client_internal::DeleteTensors(*impl_, tensors, options));
}

void Client::ExecuteAsync(const OperatorCall& call, ExecuteCallback done,
                          const CallOptions& options) {
  StartExecute(call, options).Then(std::move(done));
}

std::future<absl::StatusOr<Tensor>> Client::ExecuteFuture(const OperatorCall& call,
                                                          const CallOptions& options) {
  return client_internal::ToFuture(StartExecute(call, options));
}

absl::StatusOr<std::unique_ptr<ExecuteStream>> Client::OpenStream(const StreamOptions& options) {
  absl::StatusOr<std::shared_ptr<client_internal::StreamCore>> core = impl_->OpenStream(options);
  if (!core.ok()) return core.status();
  return std::unique_ptr<ExecuteStream>(new ExecuteStream(*std::move(core), options));
}

absl::StatusOr<ResidentTensorList> Client::ListTensors(const CallOptions& options) {
  return impl_->Run(client_internal::ListTensors(*impl_, options));
}

Call<ResidentTensorList> Client::StartListTensors(const CallOptions& options) {
  return impl_->Start(client_internal::ListTensors(*impl_, options));
}

absl::StatusOr<SharedRegion> Client::CreateRegion(uint64_t bytes, const CallOptions& options) {
  return impl_->CreateRegion(bytes, options);
}

absl::StatusOr<Catalogue> Client::ListOperators(absl::string_view name,
                                                absl::string_view feature_level,
                                                const CallOptions& options) {
  return impl_->Run(impl_->ListOperators(name, feature_level, options));
}

Call<Catalogue> Client::StartListOperators(absl::string_view name, absl::string_view feature_level,
                                           const CallOptions& options) {
  return impl_->Start(impl_->ListOperators(name, feature_level, options));
}

absl::StatusOr<ServerInfo> Client::GetServerInfo(const CallOptions& options) {
  return impl_->Run(impl_->GetServerInfo(options));
}

Call<ServerInfo> Client::StartGetServerInfo(const CallOptions& options) {
  return impl_->Start(impl_->GetServerInfo(options));
}

absl::StatusOr<std::vector<SelfTestReport>> Client::SelfTestDevices(absl::string_view name,
                                                                    const CallOptions& options) {
  return impl_->Run(impl_->SelfTestDevices(name, options));
}

Call<std::vector<SelfTestReport>> Client::StartSelfTestDevices(absl::string_view name,
                                                               const CallOptions& options) {
  return impl_->Start(impl_->SelfTestDevices(name, options));
}

std::unique_ptr<DeviceLease> Client::LeaseDevice(const DeviceLeaseOptions& lease) {
  return std::unique_ptr<DeviceLease>(
      new DeviceLease(*this, client_internal::LeaseDevice(*impl_, lease)));
}

absl::StatusOr<absl::Duration> Client::RenewLease(absl::string_view id, absl::Duration time,
                                                  const CallOptions& options) {
  return impl_->Run(client_internal::RenewLease(*impl_, id, time, options));
}

Call<absl::Duration> Client::StartRenewLease(absl::string_view id, absl::Duration time,
                                             const CallOptions& options) {
  return impl_->Start(client_internal::RenewLease(*impl_, id, time, options));
}

absl::StatusOr<std::vector<DeviceLeaseInfo>> Client::ListLeases(const CallOptions& options) {
  return impl_->Run(client_internal::ListLeases(*impl_, options));
}

Call<std::vector<DeviceLeaseInfo>> Client::StartListLeases(const CallOptions& options) {
  return impl_->Start(client_internal::ListLeases(*impl_, options));
}

absl::Status Client::EndLease(uint64_t number, const CallOptions& options) {
  return impl_->Run(client_internal::EndLease(*impl_, number, options));
}

Call<void> Client::StartEndLease(uint64_t number, const CallOptions& options) {
  return impl_->Start(client_internal::EndLease(*impl_, number, options));
}

absl::Status Client::SetDeviceAside(absl::string_view device, absl::string_view reason,
                                    const CallOptions& options) {
  return impl_->Run(client_internal::SetDeviceAside(*impl_, device, reason, options));
}

Call<void> Client::StartSetDeviceAside(absl::string_view device, absl::string_view reason,
                                       const CallOptions& options) {
  return impl_->Start(client_internal::SetDeviceAside(*impl_, device, reason, options));
}

absl::Status Client::DrainDevice(absl::string_view device, absl::string_view reason,
                                 const CallOptions& options) {
  return impl_->Run(client_internal::DrainDevice(*impl_, device, reason, options));
}

Call<void> Client::StartDrainDevice(absl::string_view device, absl::string_view reason,
                                    const CallOptions& options) {
  return impl_->Start(client_internal::DrainDevice(*impl_, device, reason, options));
}

absl::Status Client::ResumeDevice(absl::string_view device, const CallOptions& options) {
  return impl_->Run(client_internal::ResumeDevice(*impl_, device, options));
}

Call<void> Client::StartResumeDevice(absl::string_view device, const CallOptions& options) {
  return impl_->Start(client_internal::ResumeDevice(*impl_, device, options));
}

absl::StatusOr<HealthStatus> Client::CheckHealth(absl::string_view service,
                                                 const CallOptions& options) {
  return impl_->Run(impl_->CheckHealth(service, options));
}

Call<HealthStatus> Client::StartCheckHealth(absl::string_view service, const CallOptions& options) {
  return impl_->Start(impl_->CheckHealth(service, options));
}

}  // namespace opserve
