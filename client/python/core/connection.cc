#include "client/python/core/connection.h"

#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"
#include "client/python/core/forks.h"
#include "client/python/core/operands.h"
#include "client/python/core/waiting.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

std::unique_ptr<Client> Connect(const std::string& target, const ClientOptions& options) {
  NoteUse();
  return ValueOrThrow(WithoutGil([&] { return Client::Connect(target, options); }));
}

}  // namespace

CompletionTarget TargetOf(const CompletionQueue* queue, nb::handle token) {
  if (queue == nullptr) return {};
  return {queue->calls(), HoldObject(nb::borrow(token))};
}

std::unique_ptr<PendingCall> StreamObject::Start(const MethodArguments& arguments,
                                                 CompletionTarget target) {
  ThrowIfForked();
  return StartCall(*stream_, arguments, *regions_, std::move(target));
}

StepValue StreamObject::AddStep(StepSequence& sequence, const MethodArguments& arguments) {
  return sequence.Add(arguments, *regions_);
}

std::unique_ptr<PendingCall> StreamObject::StartSequence(StepSequence& sequence,
                                                         const nb::dict& settings,
                                                         CompletionTarget target) {
  ThrowIfForked();
  return sequence.Start(*stream_, settings, std::move(target));
}

void StreamObject::Finish(absl::Duration timeout) {
  ThrowIfForked();
  ThrowUnlessOk(WithoutGil([&] { return stream_->Finish(timeout); }));
}

Connection::Connection(const std::string& target, const ClientOptions& options)
    : client_(SharedWithoutGil(Connect(target, options))) {}

void Connection::Close() { client_.reset(); }

std::shared_ptr<Client> Connection::client() const {
  ThrowIfForked();
  if (client_ == nullptr) throw BadArguments("client", "it was closed");
  return client_;
}

nb::object Connection::Run(const MethodArguments& arguments) {
  return RunCall(*client(), arguments, *regions_);
}

std::unique_ptr<PendingCall> Connection::Start(const MethodArguments& arguments,
                                               CompletionTarget target) {
  return StartCall(*client(), arguments, *regions_, std::move(target));
}

std::unique_ptr<StreamObject> Connection::OpenStream(const StreamOptions& options) {
  std::shared_ptr<Client> open = client();
  std::shared_ptr<ExecuteStream> stream = SharedWithoutGil(ValueOrThrow(open->OpenStream(options)));
  return std::make_unique<StreamObject>(std::move(open), regions_, std::move(stream));
}

StepValue Connection::AddStep(StepSequence& sequence, const MethodArguments& arguments) {
  return sequence.Add(arguments, *regions_);
}

std::unique_ptr<PendingCall> Connection::StartSequence(StepSequence& sequence,
                                                       const nb::dict& settings,
                                                       CompletionTarget target) {
  return sequence.Start(*client(), settings, std::move(target));
}

std::unique_ptr<ResidentTensor> Connection::CreateTensor(nb::handle array,
                                                         const ResidentOptions& options) {
  ArrayMemory memory = TakeMemory(array, "array");
  if (!IsPacked(memory)) memory = CopyPacked(array, "array");
  const TensorSpec spec = {memory.data_type, WireSizes(memory, "array")};
  const uint64_t bytes = ValueOrThrow(ByteSize(spec));
  std::shared_ptr<Client> open = client();
  // It may hash the content first.
  const auto call = WithoutGil([&] {
    return open->StartCreateTensor(TensorView(spec, {memory.data, bytes}), options);
  });
  TensorLease lease = ValueOrThrow(WaitForResult(call));
  return std::make_unique<ResidentTensor>(std::move(open), std::move(lease), spec,
                                          memory.sizes.empty());
}

std::unique_ptr<ResidentTensor> Connection::CreateZeros(nb::handle shape, nb::handle dtype,
                                                        const ResidentOptions& options) {
  ArrayMemory layout;
  layout.data_type = DataTypeOf(dtype, "dtype");
  const std::vector<size_t> sizes = ShapeOf(shape);
  layout.sizes.assign(sizes.begin(), sizes.end());
  const TensorSpec spec = {layout.data_type, WireSizes(layout, "shape")};
  std::shared_ptr<Client> open = client();
  TensorLease lease = ValueOrThrow(WaitForResult(open->StartCreateTensor(spec, options)));
  return std::make_unique<ResidentTensor>(std::move(open), std::move(lease), spec, sizes.empty());
}

std::unique_ptr<RegionArrays> Connection::CreateRegion(uint64_t bytes) {
  const std::shared_ptr<Client> open = client();
  // Its end takes turns with other regions' beginnings, which wait for the server.
  const std::shared_ptr<const SharedRegion> region =
      SharedWithoutGil(std::make_unique<const SharedRegion>(
          ValueOrThrow(WithoutGil([&] { return open->CreateRegion(bytes); }))));
  regions_->Add(region);
  return std::make_unique<RegionArrays>(region);
}

std::unique_ptr<LeasedDevice> Connection::LeaseDevice(const DeviceLeaseOptions& options,
                                                      absl::Duration limit) {
  return std::make_unique<LeasedDevice>(client(), options, limit);
}

std::vector<OperatorInfo> Connection::ListOperators(const std::string& name,
                                                    const std::string& feature_level) {
  const std::shared_ptr<Client> open = client();
  return ValueOrThrow(WithoutGil([&] { return open->ListOperators(name, feature_level); }))
      .operators;
}

ServerInfo Connection::GetServerInfo() {
  const std::shared_ptr<Client> open = client();
  return ValueOrThrow(WithoutGil([&] { return open->GetServerInfo(); }));
}

bool Connection::IsServing() {
  const std::shared_ptr<Client> open = client();
  return ValueOrThrow(WithoutGil([&] { return open->CheckHealth(); })) == HealthStatus::kServing;
}

}  // namespace opserve::python
