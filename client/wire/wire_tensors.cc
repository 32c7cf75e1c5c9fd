#include "client/wire/wire_tensors.h"

#include <algorithm>
#include <cstdlib>
#include <variant>

namespace opserve::client_internal {
namespace {

struct SetValue {
  v1::Attribute* attribute;
  void operator()(const std::string& name) const { attribute->set_enum_name(name); }
  void operator()(int64_t value) const { attribute->set_int_value(value); }
  void operator()(double value) const { attribute->set_float_value(value); }
  void operator()(uint64_t value) const { attribute->set_uint_value(value); }
  void operator()(const Axes& axes) const {
    attribute->mutable_axes()->mutable_values()->Add(axes.begin(), axes.end());
  }
};

struct SetPlace {
  v1::TensorPlace* place;
  void operator()(const TensorHandle& handle) const { place->set_tensor(handle.id); }
  void operator()(const RegionRange& range) const {
    place->mutable_region()->set_region(range.id());
    place->mutable_region()->set_offset(range.offset());
    place->mutable_region()->set_bytes(range.size());
  }
};

struct SharesBytes {
  bool operator()(const TensorHandle& a, const TensorHandle& b) const { return a == b; }
  bool operator()(const RegionRange& a, const RegionRange& b) const {
    // Ranges that exceed their region are refused, so nothing overflows that matters.
    return a.id() == b.id() && a.offset() < b.offset() + b.size() &&
           b.offset() < a.offset() + a.size();
  }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

void EncodeSpec(const TensorSpec& spec, v1::TensorDesc* desc) {
  desc->set_data_type(static_cast<v1::DataType>(spec.data_type));
  desc->mutable_sizes()->Add(spec.sizes.begin(), spec.sizes.end());
  desc->mutable_strides()->Add(spec.strides.begin(), spec.strides.end());
}

TensorSpec DecodeSpec(const v1::TensorDesc& desc) {
  return {DataTypeFromNumber(desc.data_type()).value_or(DataType::kUnknown),
          {desc.sizes().begin(), desc.sizes().end()},
          {desc.strides().begin(), desc.strides().end()}};
}

std::string HostOf(const TensorPlace& place) {
  const auto* const tensor = std::get_if<TensorHandle>(&place);
  return std::string(
      opserve::HostOf(tensor != nullptr ? tensor->id : std::get<RegionRange>(place).id()));
}

void EncodePlace(const TensorPlace& place, v1::TensorPlace* encoded) {
  std::visit(SetPlace{encoded}, place);
}

void EncodeAttributes(const std::vector<Attribute>& attributes,
                      google::protobuf::RepeatedPtrField<v1::Attribute>* encoded) {
  for (const Attribute& attribute : attributes) {
    v1::Attribute* const added = encoded->Add();
    added->set_name(attribute.name);
    std::visit(SetValue{added}, attribute.value);
  }
}

void EncodeInputs(const std::vector<TensorView>& inputs,
                  google::protobuf::RepeatedPtrField<v1::TensorDesc>* descs,
                  google::protobuf::RepeatedPtrField<v1::TensorPlace>* places) {
  const bool has_places = std::any_of(inputs.begin(), inputs.end(), [](const TensorView& input) {
    return input.place().has_value();
  });
  for (const TensorView& input : inputs) {
    v1::TensorDesc* const desc = descs->Add();
    if (!input.name().empty()) desc->set_name(input.name());
    EncodeSpec(input.spec(), desc);
    if (!has_places) continue;
    v1::TensorPlace* const place = places->Add();
    if (input.place()) EncodePlace(*input.place(), place);
  }
}

void AddPlace(const TensorPlace& place, OutgoingMessage& message) {
  message.places.push_back(place);
  if (message.host.empty()) message.host = HostOf(place);
}

void AddPayloads(const std::vector<TensorView>& inputs, OutgoingMessage& message) {
  message.payloads.reserve(inputs.size());
  for (const TensorView& input : inputs) {
    if (input.place()) {
      AddPlace(*input.place(), message);
    } else {
      message.payloads.push_back(input.bytes());
    }
  }
}

bool Overlaps(const TensorPlace& output, const std::vector<TensorView>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const TensorView& input) {
    return input.place() && std::visit(SharesBytes{}, output, *input.place());
  });
}

std::string LeaseOf(const std::string& named, DevicePreference device) {
  if (!named.empty()) return named;
  if (device != DevicePreference::kDefault && device != DevicePreference::kGpu) return "";
  const char* const inherited = std::getenv(kDeviceLeaseVariable);
  return inherited == nullptr ? "" : inherited;
}

}  // namespace opserve::client_internal
