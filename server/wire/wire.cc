#include "server/wire/wire.h"

#include <span>
#include <string>

namespace opserve {
namespace {

absl::string_view ViewOf(const std::string& text) { return text; }

template <class T>
std::span<const T> SpanOf(const google::protobuf::RepeatedField<T>& values) {
  return {values.data(), static_cast<size_t>(values.size())};
}

}  // namespace

TensorDescView ViewOf(const v1::TensorDesc& desc) {
  return {.name = ViewOf(desc.name()),
          .data_type = desc.data_type(),
          .sizes = SpanOf(desc.sizes()),
          .strides = SpanOf(desc.strides())};
}

AttributeView ViewOf(const v1::Attribute& attribute) {
  AttributeView view{.name = ViewOf(attribute.name())};
  switch (attribute.value_case()) {
    case v1::Attribute::kEnumName:
      view.value = ViewOf(attribute.enum_name());
      break;
    case v1::Attribute::kIntValue:
      view.value = int64_t{attribute.int_value()};
      break;
    case v1::Attribute::kFloatValue:
      view.value = attribute.float_value();
      break;
    case v1::Attribute::kUintValue:
      // The same number of INT64, where there is one, is the same value.
      view.value = uint64_t{attribute.uint_value()};
      if (std::in_range<int64_t>(attribute.uint_value())) {
        view.value = static_cast<int64_t>(attribute.uint_value());
      }
      break;
    case v1::Attribute::kAxes:
      view.value = SpanOf(attribute.axes().values());
      break;
    case v1::Attribute::VALUE_NOT_SET:
      break;
  }
  return view;
}

void WriteDesc(const TensorDesc& desc, v1::TensorDesc& out) {
  out.set_data_type(static_cast<v1::DataType>(desc.data_type));
  for (uint32_t size : desc.size_span()) out.add_sizes(size);
  if (!desc.has_strides) return;
  for (uint32_t stride : desc.stride_span()) out.add_strides(stride);
}

RequestEnvelope EnvelopeOf(const v1::ExecuteRequest& request) {
  return {.request_id = request.request_id(),
          .device = request.device(),
          .priority = request.priority(),
          .verify = request.verify(),
          .device_lease = request.device_lease()};
}

RequestHeader HeaderOf(const v1::ExecuteRequest& request, std::span<const uint64_t> payload_bytes) {
  RequestHeader header = {EnvelopeOf(request), {}};
  OperatorRequest& call = header.call;
  call.operator_name = ViewOf(request.operator_());
  call.feature_level = ViewOf(request.feature_level());
  call.attributes.reserve(request.attributes_size());
  for (const v1::Attribute& attribute : request.attributes()) {
    call.attributes.push_back(ViewOf(attribute));
  }
  call.inputs.reserve(request.inputs_size());
  for (const v1::TensorDesc& input : request.inputs()) call.inputs.push_back(ViewOf(input));
  if (request.has_output()) call.output = ViewOf(request.output());
  call.payload_bytes.assign(payload_bytes.begin(), payload_bytes.end());
  return header;
}

Priority RequestEnvelope::PriorityClass() const {
  if (priority == v1::PRIORITY_HIGH) return Priority::kHigh;
  return priority == v1::PRIORITY_LOW ? Priority::kLow : Priority::kNormal;
}

Placement RequestEnvelope::PlacementOr(Placement by_default) const {
  switch (device) {
    case v1::DEVICE_PREFERENCE_AUTO:
      return Placement::kAuto;
    case v1::DEVICE_PREFERENCE_GPU:
      return Placement::kGpu;
    case v1::DEVICE_PREFERENCE_CPU:
      return Placement::kCpu;
    default:
      return by_default;
  }
}

std::array<TensorBytes, kMaxInputs> InputsOf(std::span<const TensorBytes> payloads,
                                             const Invocation& invocation) {
  std::array<TensorBytes, kMaxInputs> inputs = {};
  for (int i = 0; i < kMaxInputs; ++i) {
    const int payload = invocation.payload_index[i];
    if (i >= TraitsOf(invocation.op).input_count() || payload < 0) continue;
    inputs[i] = payloads[payload];
  }
  return inputs;
}

void WriteResponseHeader(const v1::ExecuteRequest& request, const Invocation& invocation,
                         const RunRecord& record, v1::ExecuteResponse& response) {
  response.set_request_id(request.request_id());
  WriteDesc(invocation.output, *response.mutable_output());
  WriteExecution(record, *response.mutable_execution());
}

void WriteExecution(const RunRecord& record, v1::ExecutionInfo& execution) {
  execution.set_device(std::string(record.device));
  execution.set_batch_size(static_cast<uint32_t>(record.batch_size));
  execution.set_queue_time_ns(record.queued.count());
  execution.set_run_time_ns(record.ran.count());
  execution.set_attempts(static_cast<uint32_t>(record.attempts));
  execution.set_verified(record.is_verified);
}

}  // namespace opserve
