// Fuzzes validation, planning, the CPU kernels and the layout of GPU batches with calls that are
// built, not decoded, so that most are almost right: operators, types and layouts of the table with
// a fault now and then.

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attribute_settings.h"
#include "kernels/validate.h"
#include "server/device/lane_key.h"
#include "tests/fuzz/run_and_compare.h"

namespace opserve::fuzz {
namespace {

using Dims = std::vector<uint32_t>;

// Dimensions whose product stays small, with a wild value now and then.
Dims TakeSizes(FuzzedDataProvider& data) {
  Dims sizes(data.ConsumeIntegralInRange<size_t>(0, 9));
  for (uint32_t& size : sizes) {
    const bool is_wild = data.ConsumeIntegralInRange(0, 63) == 0;
    size = is_wild ? data.ConsumeIntegral<uint32_t>() : data.ConsumeIntegralInRange(1u, 5u);
  }
  if (!sizes.empty() && data.ConsumeBool()) sizes.back() = data.ConsumeIntegralInRange(1u, 300u);
  return sizes;
}

Dims TakeStrides(FuzzedDataProvider& data, size_t count) {
  if (data.ConsumeBool()) return {};
  Dims strides(data.ConsumeIntegralInRange(0, 31) == 0 ? count + 1 : count);
  for (uint32_t& stride : strides) {
    const bool is_wild = data.ConsumeIntegralInRange(0, 63) == 0;
    stride = is_wild ? data.ConsumeIntegral<uint32_t>() : data.ConsumeIntegralInRange(0u, 400u);
  }
  return strides;
}

// What calls of one lane have in common.
struct Family {
  explicit Family(FuzzedDataProvider& data)
      : op(OpTable()[data.ConsumeIntegralInRange<size_t>(0, OpTable().size() - 1)]),
        type(data.ConsumeIntegralInRange(-1, kDataTypeCount)),
        setting(data.ConsumeIntegralInRange(-1, SettingCount(op, DataType::kFloat32) - 1)),
        attribute(data.ConsumeIntegralInRange<int64_t>(-1, 4)) {}

  const OpTraits& op;
  int type;
  // Of the attributes; -1: each is `attribute`.
  int setting;
  int64_t attribute;
};

// A request with everything its views refer to.
class Call {
 public:
  Call(const Family& family, FuzzedDataProvider& data) : op_(family.op) {
    request_.operator_name = op_.name;
    if (data.ConsumeBool()) {
      const size_t level = data.ConsumeIntegralInRange<size_t>(0, kAllFeatureLevels.size() - 1);
      texts_.push_back(NameOf(kAllFeatureLevels[level]));
      request_.feature_level = texts_.back();
    }
    if (family.setting >= 0) {
      request_.attributes = AttributesOfSetting(
          op_, DataTypeFromNumber(family.type).value_or(DataType::kFloat32), family.setting);
    } else {
      for (const AttributeTraits& attribute : op_.attributes) {
        request_.attributes.push_back({attribute.name, family.attribute});
      }
    }
    AddTensors(family.type, data);
  }

  OperatorRequest& request() { return request_; }

 private:
  void AddTensors(int type, FuzzedDataProvider& data) {
    const Dims& sizes = dims_.emplace_back(TakeSizes(data));
    const Dims& single = dims_.emplace_back(sizes.size(), 1u);
    const std::optional<DataType> lane = DataTypeFromNumber(type);
    for (int i = 0; i < op_.input_count(); ++i) {
      const bool is_single = op_.inputs[i].is_single && !data.ConsumeBool();
      request_.inputs.push_back(
          {.name = {},
           .data_type = lane ? static_cast<int>(op_.InputType(i, *lane)) : type,
           .sizes = is_single ? single : sizes,
           .strides = dims_.emplace_back(TakeStrides(data, sizes.size()))});
      request_.payload_bytes.push_back(0);
    }
    if (data.ConsumeBool()) {
      request_.output = {.strides = dims_.emplace_back(TakeStrides(data, sizes.size()))};
    }
  }

  const OpTraits& op_;
  std::deque<std::string> texts_;
  std::deque<Dims> dims_;
  OperatorRequest request_;
};

// Payload lengths are what the descriptors need, as far as those make sense.
void SetPayloads(OperatorRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorDescView& tensor = request.inputs[i];
    const auto type = DataTypeFromNumber(tensor.data_type);
    if (!type || tensor.sizes.size() > kMaxDimensionCount) continue;
    const TensorDesc packed = PackedDesc(*type, tensor.sizes);
    const auto strides = tensor.strides.empty() ? packed.stride_span() : tensor.strides;
    if (strides.size() != tensor.sizes.size()) continue;
    request.payload_bytes[i] = ExtentInElements(tensor.sizes, strides).value_or(0) * SizeOf(*type);
  }
}

// A validated call of the family, or nullptr if it is not right.
std::shared_ptr<const Invocation> TakeCall(const Family& family, FuzzedDataProvider& data) {
  constexpr ValidationLimits kLimits = {.max_elements = 1 << 16, .max_tensor_bytes = 1 << 20};
  Call call(family, data);
  SetPayloads(call.request());
  const ValidationResult result = Validate(call.request(), kLimits);
  if ((result.invocation == nullptr) == result.violations.empty()) std::abort();
  return result.invocation;
}

// Holds batches of `first` and more calls of its lane to the model of GPU kernels.
void CheckBatches(const Family& family, const Invocation& first, FuzzedDataProvider& data) {
  std::vector<std::shared_ptr<const Invocation>> owners;
  std::vector<DeviceCall> calls = {{&first, {}, nullptr}};
  for (size_t rest = data.ConsumeIntegralInRange<size_t>(0, 6); rest > 0; --rest) {
    const auto& next = owners.emplace_back(TakeCall(family, data));
    if (next != nullptr && LaneKeyOf(*next) == LaneKeyOf(first)) {
      calls.push_back({next.get(), {}, nullptr});
    }
  }
  CheckGpuBounds(calls);
}

}  // namespace
}  // namespace opserve::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace opserve;
  FuzzedDataProvider data(bytes, size);
  const fuzz::Family family(data);
  const auto first = fuzz::TakeCall(family, data);
  if (first == nullptr) return 0;
  fuzz::CheckBatches(family, *first, data);
  const std::vector<uint8_t> pool = data.ConsumeRemainingBytes<uint8_t>();
  fuzz::RunAndCompare(*first, pool);
  return 0;
}
