#include "client/wire.h"

#include "absl/strings/str_cat.h"

namespace opserve::client_internal {
namespace {

void Encode(const TensorSpec& spec, v1::TensorDesc* desc) {
  desc->set_data_type(static_cast<v1::DataType>(spec.data_type));
  desc->mutable_sizes()->Add(spec.sizes.begin(), spec.sizes.end());
  desc->mutable_strides()->Add(spec.strides.begin(), spec.strides.end());
}

struct SetValue {
  v1::Attribute* attribute;
  void operator()(const std::string& name) const { attribute->set_enum_name(name); }
  void operator()(int64_t value) const { attribute->set_int_value(value); }
  void operator()(double value) const { attribute->set_float_value(value); }
};

std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

TensorInfo Decode(const v1::TensorInfo& tensor) { return {tensor.name(), tensor.optional()}; }

AttributeInfo Decode(const v1::AttributeInfo& attribute) {
  AttributeInfo info{attribute.name(), attribute.kind(), attribute.optional(), {}};
  for (const v1::EnumValueInfo& value : attribute.values()) {
    info.values.push_back({value.name(), value.number(), value.meaning()});
  }
  return info;
}

SupportInfo Decode(const v1::SupportInfo& row) {
  SupportInfo info{row.feature_level(), {}};
  for (const v1::TensorSupport& tensor : row.tensors()) {
    TensorSupport& support = info.tensors.emplace_back(TensorSupport{
        tensor.name(), tensor.min_dimension_count(), tensor.max_dimension_count(), {}});
    for (int number : tensor.data_types()) {
      // A newer server may know types that this client does not.
      if (const auto type = DataTypeFromNumber(number)) support.data_types.push_back(*type);
    }
  }
  return info;
}

OperatorInfo Decode(const v1::OperatorInfo& op) {
  OperatorInfo info;
  info.name = op.name();
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
  info.in_place = Strings(op.in_place());
  for (const v1::SupportInfo& row : op.support()) info.support.push_back(Decode(row));
  info.max_ulp = op.max_ulp();
  return info;
}

}  // namespace

v1::ExecuteRequest EncodeCall(const OperatorCall& call) {
  v1::ExecuteRequest request;
  request.set_operator_(call.operator_name);
  request.set_request_id(call.request_id);
  request.set_feature_level(call.feature_level);
  request.set_device(static_cast<v1::DevicePreference>(call.device));
  for (const Attribute& attribute : call.attributes) {
    v1::Attribute* encoded = request.add_attributes();
    encoded->set_name(attribute.name);
    std::visit(SetValue{encoded}, attribute.value);
  }
  for (const TensorView& input : call.inputs) {
    v1::TensorDesc* desc = request.add_inputs();
    desc->set_name(input.name());
    Encode(input.spec(), desc);
    request.add_payloads(input.bytes().data(), input.bytes().size());
  }
  if (call.output) Encode(*call.output, request.mutable_output());
  return request;
}

absl::StatusOr<Tensor> DecodeOutput(v1::ExecuteResponse& response) {
  const v1::TensorDesc& desc = response.output();
  TensorSpec spec{DataTypeFromNumber(desc.data_type()).value_or(DataType::kUnknown),
                  {desc.sizes().begin(), desc.sizes().end()},
                  {desc.strides().begin(), desc.strides().end()}};
  absl::StatusOr<Tensor> output =
      Tensor::FromBytes(std::move(spec), std::move(*response.mutable_payload()));
  if (output.ok()) return output;
  return absl::DataLossError(
      absl::StrCat("the server's response contradicts itself: ", output.status().message()));
}

ExecutionInfo DecodeExecution(const v1::ExecutionInfo& info) {
  return {info.device(), info.batch_size(), absl::Nanoseconds(info.queue_time_ns()),
          absl::Nanoseconds(info.run_time_ns()), 0};
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
    info.devices.push_back({device.name(), device.description(), device.threads()});
  }
  const v1::LimitsInfo& limits = response.limits();
  info.limits = {limits.max_dimension_count(), limits.max_elements(),
                 limits.max_tensor_bytes(),    limits.max_request_id_bytes(),
                 limits.max_message_bytes(),   limits.max_concurrent_requests(),
                 limits.max_queued_bytes()};
  info.uptime = absl::Seconds(response.uptime_s());
  return info;
}

}  // namespace opserve::client_internal
