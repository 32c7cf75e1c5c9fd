#include "server/pool/verify/sample_call.h"

#include <array>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/attribute_settings.h"
#include "kernels/reference.h"
#include "kernels/validate.h"

namespace opserve {
namespace {

constexpr uint32_t kColumns = 13;
constexpr uint32_t kPadding = 3;

// Sizes and strides of the tensors of one call; empty strides are packed ones.
struct Shape {
  std::vector<uint32_t> sizes;
  std::vector<uint32_t> input_strides;
  std::vector<uint32_t> output_strides;
  // The sizes of tensors that have one element.
  std::vector<uint32_t> single_sizes = std::vector<uint32_t>(sizes.size(), 1);
};

Shape ShapeOf(SampleLayout layout, uint32_t count) {
  if (layout == SampleLayout::kPacked) return {{count}, {}, {}};
  const uint32_t rows = (count + kColumns - 1) / kColumns;
  if (layout == SampleLayout::kTransposed) return {{rows, kColumns}, {1, rows}, {}};
  const std::vector<uint32_t> padded = {kColumns + kPadding, 1};
  return {{rows, kColumns}, padded, padded};
}

uint64_t BytesOf(const TensorDescView& view) {
  const size_t size = SizeOf(static_cast<DataType>(view.data_type));
  const std::optional<uint64_t> elements =
      view.strides.empty() ? ElementCount(view.sizes) : ExtentInElements(view.sizes, view.strides);
  return elements.value_or(0) * size;
}

// The type of input `i`: those that go with the first number have its type, or FLOAT32 where that
// is an integer which counts as one.
DataType TypeOfInput(const OpTraits& op, int i, const SampleSpec& spec) {
  const int first = op.shape.number_input();
  if (spec.number == DataType::kUnknown) return op.InputType(i, spec.lane);
  if (i == first) return spec.number;
  for (const TypeGroup& group : op.same_data_type) {
    if (!group.has_input(first) || !group.has_input(i)) continue;
    const bool is_float32 = group.integers_count_as_float32 && !IsFloat(spec.number);
    return is_float32 ? DataType::kFloat32 : spec.number;
  }
  return op.InputType(i, spec.lane);
}

ValidationResult ValidateSpec(const SampleSpec& spec) {
  const OpTraits& op = TraitsOf(spec.op);
  const Shape shape = ShapeOf(spec.layout, spec.count);
  OperatorRequest request;
  request.operator_name = op.name;
  for (int i = 0; i < op.input_count(); ++i) {
    const int type = static_cast<int>(TypeOfInput(op, i, spec));
    if (op.inputs[i].is_single) {
      request.inputs.push_back({{}, type, shape.single_sizes, {}});
    } else {
      request.inputs.push_back({{}, type, shape.sizes, shape.input_strides});
    }
    request.payload_bytes.push_back(BytesOf(request.inputs.back()));
  }
  const int type = static_cast<int>(spec.output);
  request.output = TensorDescView{{}, type, shape.sizes, shape.output_strides};
  request.attributes = AttributesOfSetting(op, spec.lane, spec.setting);
  return Validate(request, ValidationLimits());
}

}  // namespace

absl::string_view NameOf(SampleLayout layout) {
  constexpr std::array<absl::string_view, 3> kNames = {"packed", "padded", "transposed"};
  return kNames[static_cast<size_t>(layout)];
}

DataTypeSet NumberTypesOf(const OpTraits& op) {
  DataTypeSet types;
  const int number = op.shape.number_input();
  if (number == op.input_count()) return types;
  for (const SupportRow& row : op.support) types = types | row.types[number];
  return types;
}

absl::StatusOr<SampleCall> SampleCall::Make(const SampleSpec& spec, std::mt19937_64& random) {
  const ValidationResult result = ValidateSpec(spec);
  if (result.invocation == nullptr) {
    const Violation& first = result.violations.front();
    return absl::InternalError(absl::StrCat("No sample call of ", TraitsOf(spec.op).name, ": ",
                                            first.field, ": ", first.description));
  }
  SampleCall call;
  call.invocation_ = result.invocation;
  for (int i = 0; i < TraitsOf(spec.op).input_count(); ++i) {
    const auto input = static_cast<size_t>(i);
    std::vector<std::byte>& bytes =
        call.inputs_.emplace_back(result.invocation->input_bytes[input]);
    FillWithSamples(result.invocation->inputs[input].data_type, spec.values, random, bytes);
  }
  return call;
}

uint64_t SampleCall::bytes() const {
  uint64_t bytes = invocation_->output_bytes;
  for (const std::vector<std::byte>& input : inputs_) bytes += input.size();
  return bytes;
}

DeviceCall SampleCall::CallInto(std::byte* output) const {
  DeviceCall call;
  call.invocation = invocation_.get();
  for (size_t i = 0; i < inputs_.size(); ++i) call.inputs[i] = inputs_[i].data();
  call.output = output;
  return call;
}

std::vector<std::byte> SampleCall::Expected() const {
  std::vector<std::byte> expected(invocation_->output_bytes);
  std::vector<const std::byte*> inputs;
  for (const std::vector<std::byte>& input : inputs_) inputs.push_back(input.data());
  RunReference(*invocation_, inputs, expected.data());
  return expected;
}

}  // namespace opserve
