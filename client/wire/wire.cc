#include "client/wire/wire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/wire/wire_tensors.h"

namespace opserve::client_internal {
namespace {

static_assert(kPayloadField == v1::ExecuteRequest::kPayloadsFieldNumber &&
              kPayloadField == v1::ExecuteResponse::kPayloadFieldNumber);

std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

TensorInfo Decode(const v1::TensorInfo& tensor) {
  return {tensor.name(), tensor.optional(), tensor.optional_since(), tensor.one_element()};
}

AttributeValueKind AttributeValueKindFrom(absl::string_view name) {
  if (name == "enum") return AttributeValueKind::kEnum;
  if (name == "int") return AttributeValueKind::kInt;
  if (name == "float") return AttributeValueKind::kFloat;
  if (name == "data_type") return AttributeValueKind::kDataType;
  if (name == "scalar") return AttributeValueKind::kScalar;
  if (name == "activation") return AttributeValueKind::kActivation;
  if (name == "axes") return AttributeValueKind::kAxes;
  return AttributeValueKind::kUnknown;
}

AttributeInfo Decode(const v1::AttributeInfo& attribute) {
  AttributeInfo info{attribute.name(),
                     attribute.kind(),
                     attribute.optional(),
                     {},
                     AttributeValueKindFrom(attribute.kind())};
  for (const v1::EnumValueInfo& value : attribute.values()) {
    info.values.push_back({value.name(), value.number(), value.meaning()});
  }
  return info;
}

// A newer server may know types that this client does not; they are left out.
std::vector<DataType> DataTypes(const google::protobuf::RepeatedField<int>& numbers) {
  std::vector<DataType> types;
  for (int number : numbers) {
    if (const auto type = DataTypeFromNumber(number)) types.push_back(*type);
  }
  return types;
}

SupportInfo Decode(const v1::SupportInfo& row) {
  SupportInfo info{row.feature_level(), {}};
  for (const v1::TensorSupport& tensor : row.tensors()) {
    info.tensors.push_back({tensor.name(), tensor.min_dimension_count(),
                            tensor.max_dimension_count(), DataTypes(tensor.data_types())});
  }
  return info;
}

OperatorInfo Decode(const v1::OperatorInfo& op) {
  OperatorInfo info;
  info.name = op.name();
  info.family = op.family();
  info.summary = op.summary();
  info.formula = op.formula();
  info.introduced = op.introduced();
  for (const v1::TensorInfo& input : op.inputs()) info.inputs.push_back(Decode(input));
  info.output = Decode(op.output());
  for (const v1::AttributeInfo& attribute : op.attributes()) {
    info.attributes.push_back(Decode(attribute));
  }
  for (const auto& group : op.same_sizes()) info.same_sizes.push_back(Strings(group.tensors()));
  for (const auto& group : op.same_data_type()) {
    info.same_data_type.push_back(Strings(group.tensors()));
  }
  for (const auto& group : op.same_float_type()) {
    info.same_float_type.push_back(Strings(group.tensors()));
  }
  info.in_place = Strings(op.in_place());
  for (const v1::SupportInfo& row : op.support()) info.support.push_back(Decode(row));
  info.max_ulp = op.max_ulp();
  for (const v1::OperatorDevice& device : op.devices()) {
    info.devices.push_back({device.device(), device.tensor(), DataTypes(device.data_types())});
  }
  return info;
}

DeviceInfo::Kind Decode(v1::DeviceKind kind) {
  const auto decoded = static_cast<DeviceInfo::Kind>(kind);
  return v1::DeviceKind_IsValid(kind) ? decoded : DeviceInfo::Kind::kUnknown;
}

DeviceInfo::State Decode(v1::DeviceState state) {
  const auto decoded = static_cast<DeviceInfo::State>(state);
  return v1::DeviceState_IsValid(state) ? decoded : DeviceInfo::State::kUnknown;
}

std::vector<BatchSizeCount> Decode(
    const google::protobuf::RepeatedPtrField<v1::BatchSizeCount>& batches) {
  std::vector<BatchSizeCount> decoded;
  for (const v1::BatchSizeCount& batch : batches) decoded.push_back({batch.size(), batch.count()});
  return decoded;
}

DeviceCounters Decode(const v1::DeviceCounters& counters) {
  DeviceCounters decoded;
#define OPSERVE_DEVICE_COUNTER(NAME) decoded.NAME = counters.NAME();
#define OPSERVE_BATCH_COUNTER(NAME) decoded.NAME = Decode(counters.NAME());
#include "proto/opserve/device_counters.def"
  return decoded;
}

DeviceInfo Decode(const v1::DeviceInfo& device) {
  DeviceInfo info;
  info.name = device.name();
  info.description = device.description();
  info.threads = device.threads();
  info.kind = Decode(device.kind());
  info.runtime = device.runtime();
  info.driver = device.driver();
  info.feature_level = device.feature_level();
  info.memory_bytes = device.memory_bytes();
  info.software = device.software();
  info.state = Decode(device.state());
  info.state_reason = device.state_reason();
  info.pending_requests = device.pending_requests();
  info.pending_bytes = device.pending_bytes();
  info.batches_in_flight = device.batches_in_flight();
  info.memory_budget_bytes = device.memory_budget_bytes();
  info.kept_bytes = device.kept_bytes();
  info.lease_left = absl::Milliseconds(device.lease_left_ms());
  info.counters = Decode(device.counters());
  return info;
}

ServerLimits Decode(const v1::LimitsInfo& limits) {
  return {limits.max_dimension_count(),
          limits.max_elements(),
          limits.max_tensor_bytes(),
          limits.max_request_id_bytes(),
          limits.max_message_bytes(),
          limits.max_concurrent_requests(),
          limits.max_queued_bytes(),
          limits.max_batch_requests(),
          limits.max_batch_bytes(),
          limits.max_resident_bytes_per_client(),
          limits.max_resident_bytes(),
          absl::Seconds(limits.max_lease_s()),
          limits.max_sequence_steps(),
          limits.max_stream_bytes(),
          absl::Seconds(limits.max_device_lease_s()),
          limits.max_device_leases_per_client()};
}

// What is to be computed, but for the feature level.
void EncodeWork(const OperatorCall& call, v1::ExecuteRequest& request) {
  request.set_operator_(call.operator_name);
  EncodeAttributes(call.attributes, request.mutable_attributes());
  EncodeInputs(call.inputs, request.mutable_inputs(), request.mutable_input_places());
  if (call.output) EncodeSpec(*call.output, request.mutable_output());
}

v1::ExecuteRequest EncodeHeader(const OperatorCall& call) {
  v1::ExecuteRequest request;
  EncodeWork(call, request);
  EncodeSettings(call, request);
  return request;
}

absl::Status Contradiction(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the server's response contradicts itself: ", what));
}

}  // namespace

v1::ExecuteRequest EncodeCall(const OperatorCall& call) {
  v1::ExecuteRequest request = EncodeHeader(call);
  for (const TensorView& input : call.inputs) {
    if (!input.place()) request.add_payloads(input.bytes().data(), input.bytes().size());
  }
  return request;
}

std::string ResultKey(const OperatorCall& call) {
  v1::ExecuteRequest work;
  EncodeWork(call, work);
  work.set_feature_level(call.feature_level);
  work.set_device(static_cast<v1::DevicePreference>(call.device));
  work.set_device_lease(call.device_lease);
  return work.SerializeAsString();
}

OutgoingMessage MakeRequest(const OperatorCall& call, const std::optional<TensorPlace>& output) {
  v1::ExecuteRequest header = EncodeHeader(call);
  if (output) EncodePlace(*output, header.mutable_output_place());
  OutgoingMessage request = {header.SerializeAsString()};
  request.host = std::string(HostOf(header.device_lease()));
  if (output) AddPlace(*output, request);
  AddPayloads(call.inputs, request);
  return request;
}

OutgoingMessage MakeRingRequest(const OperatorCall& call, v1::PayloadRing ring,
                                const RegionRange& memory, const RegionRange& output) {
  v1::ExecuteRequest header = EncodeHeader(call);
  v1::TensorPlace place;
  EncodePlace(memory, &place);
  *ring.mutable_memory() = std::move(*place.mutable_region());
  *header.mutable_ring() = std::move(ring);
  EncodePlace(output, header.mutable_output_place());
  OutgoingMessage request = {header.SerializeAsString()};
  request.host = std::string(HostOf(memory.id()));
  request.places = {memory, output};
  return request;
}

absl::Status Parse(const ResponseMessage& received, google::protobuf::Message& message) {
  if (message.ParseFromString(received.header())) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the server's response is no ", message.GetTypeName()));
}

absl::StatusOr<TensorSpec> DecodeOutputSpec(const v1::TensorDesc& output) {
  TensorSpec spec = DecodeSpec(output);
  const absl::StatusOr<uint64_t> needed = ByteSize(spec);
  if (!needed.ok()) return Contradiction(needed.status().message());
  return spec;
}

absl::StatusOr<TensorSpec> DecodeOutputSpec(const v1::TensorDesc& output, uint64_t received) {
  absl::StatusOr<TensorSpec> spec = DecodeOutputSpec(output);
  if (!spec.ok()) return spec;
  const uint64_t needed = *ByteSize(*spec);
  if (needed == received) return spec;
  return Contradiction(absl::StrCat(ToString(*spec), " needs ", needed, " bytes, not ", received));
}

absl::StatusOr<ReceivedOutput> FindOutput(const v1::TensorDesc& desc,
                                          const ResponseMessage& response, size_t payload) {
  const uint64_t received =
      payload < response.payload_count() ? response.payload_bytes(payload) : 0;
  absl::StatusOr<TensorSpec> spec = DecodeOutputSpec(desc, received);
  if (!spec.ok()) return spec.status();
  return ReceivedOutput{*std::move(spec), received, payload};
}

absl::StatusOr<ReceivedOutput> DecodeOutput(const ResponseMessage& response,
                                            v1::ExecuteResponse& header) {
  absl::Status parsed = Parse(response, header);
  if (!parsed.ok()) return parsed;
  // A field that is not repeated has the last value that was sent; no payload has no bytes, which
  // no valid descriptor agrees to.
  return FindOutput(header.output(), response, response.payload_count() - 1);
}

absl::StatusOr<TensorSpec> DecodePlacedOutput(const ResponseMessage& response,
                                              v1::ExecuteResponse& header) {
  absl::Status parsed = Parse(response, header);
  if (!parsed.ok()) return parsed;
  if (response.payload_count() == 0) return DecodeOutputSpec(header.output());
  return Contradiction("there is a payload, though the result went elsewhere");
}

ExecutionInfo DecodeExecution(const v1::ExecutionInfo& info) {
  return {info.device(),
          info.batch_size(),
          absl::Nanoseconds(info.queue_time_ns()),
          absl::Nanoseconds(info.run_time_ns()),
          info.attempts(),
          info.verified(),
          /*sends=*/0,
          PayloadPath::kMessage};
}

void AddExecution(const v1::ExecutionInfo& execution, ExecutionInfo& info) {
  const int sends = info.sends;
  info = DecodeExecution(execution);
  info.sends = sends;
}

std::vector<SelfTestReport> DecodeSelfTests(const v1::SelfTestDevicesResponse& response) {
  std::vector<SelfTestReport> reports;
  for (const v1::SelfTestResult& result : response.results()) {
    reports.push_back({result.device(), result.passed(), result.cases(), result.failure(),
                       absl::Nanoseconds(result.duration_ns())});
  }
  return reports;
}

Catalogue DecodeCatalogue(const v1::ListOperatorsResponse& response) {
  Catalogue catalogue;
  for (const v1::OperatorInfo& op : response.operators()) {
    catalogue.operators.push_back(Decode(op));
  }
  for (const v1::FeatureLevelInfo& level : response.feature_levels()) {
    catalogue.feature_levels.push_back({level.name(), level.value(), level.max_dimension_count()});
  }
  return catalogue;
}

ServerInfo DecodeServerInfo(const v1::GetServerInfoResponse& response) {
  ServerInfo info;
  info.version = response.version();
  info.feature_level = response.feature_level();
  for (const v1::DeviceInfo& device : response.devices()) {
    info.devices.push_back(Decode(device));
  }
  info.limits = Decode(response.limits());
  info.uptime = absl::Seconds(response.uptime_s());
  if (response.has_shared_memory()) {
    info.shared_memory = {response.shared_memory().socket(), response.shared_memory().max_bytes()};
  }
  info.host = response.host();
  return info;
}

}  // namespace opserve::client_internal
