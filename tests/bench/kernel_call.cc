#include "tests/bench/kernel_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <string>

#include "kernels/attribute_settings.h"
#include "kernels/reference_ops.h"
#include "tests/testing/request_builder.h"

namespace opserve::bench {
namespace {

// Between which numbers the floats of an input are.
struct Range {
  float least;
  float most;
};

constexpr Range kDivisors = {1, 100};

// Where the operator's results differ most.
Range UsualRange(const OpTraits& op) {
  switch (op.id) {
    case OpId::ELEMENT_WISE_ACOS:
    case OpId::ELEMENT_WISE_ASIN:
    case OpId::ELEMENT_WISE_ATANH:
      return {-1, 1};
    case OpId::ELEMENT_WISE_ACOSH:
    case OpId::ELEMENT_WISE_LOG:
      return {1, 1000};
    default:
      break;
  }
  switch (op.family) {
    case OpFamily::kActivation:
    case OpFamily::kElementary:
    case OpFamily::kSoftmax:
      return {-8, 8};
    default:
      return {-2000, 2000};
  }
}

float FloatWithin(const Range& range, uint64_t bits) {
  return range.least + static_cast<float>(bits >> 40) * 0x1p-24f * (range.most - range.least);
}

void StoreValue(DataType type, uint64_t bits, const Range& range, bool is_divisor, std::byte* to) {
  if (type == DataType::kFloat32) {
    const float value = FloatWithin(range, bits);
    std::memcpy(to, &value, sizeof(value));
  } else if (type == DataType::kFloat16) {
    const reference::Float16 value = reference::ToHalf(FloatWithin(range, bits));
    std::memcpy(to, &value, sizeof(value));
  } else {
    const uint64_t value = is_divisor ? bits % 100 + 1 : bits;
    std::memcpy(to, &value, SizeOf(type));
  }
}

// Floats of a usual input are within `range`.
void FillInput(DataType type, Values values, const Range& range, bool is_divisor, Buffer& buffer) {
  // Large buffers repeat a block: making random numbers takes longer than measuring.
  constexpr size_t kBlockBytes = size_t{1} << 20;
  const size_t block = buffer.size() < kBlockBytes ? buffer.size() : kBlockBytes;
  const size_t size = SizeOf(type);
  std::mt19937_64 random(is_divisor ? 2 : 1);
  for (size_t at = 0; at + size <= block; at += size) {
    const uint64_t bits = random();
    if (values == Values::kUsual) {
      StoreValue(type, bits, range, is_divisor, buffer.data() + at);
    } else {
      std::memcpy(buffer.data() + at, &bits, size);
    }
  }
  for (size_t at = block; at < buffer.size(); at += block) {
    std::memcpy(buffer.data() + at, buffer.data(), std::min(block, buffer.size() - at));
  }
}

}  // namespace

std::shared_ptr<const Invocation> MakePackedCall(OpId op, DataType lane, int mode, uint32_t count) {
  return MakePackedCall(op, lane, mode, std::vector<uint32_t>{count});
}

std::shared_ptr<const Invocation> MakePackedCall(OpId op, DataType lane, int setting,
                                                 const std::vector<uint32_t>& sizes) {
  const OpTraits& traits = TraitsOf(op);
  testing::RequestBuilder builder{std::string(traits.name)};
  for (int i = 0; i < traits.input_count(); ++i) {
    const std::vector<uint32_t> single(sizes.size(), 1);
    builder.Input(
        {.type = traits.InputType(i, lane), .sizes = traits.inputs[i].is_single ? single : sizes});
  }
  builder.Output({.type = traits.OutputTypes(lane).last(), .sizes = sizes});
  builder.request().attributes = AttributesOfSetting(traits, lane, setting);
  return builder.Validate({.max_tensor_bytes = UINT64_MAX}).invocation;
}

void Buffer::Free::operator()(std::byte* data) const { std::free(data); }

Buffer::Buffer(size_t bytes) : size_(bytes) {
  constexpr size_t kAlignment = 4096;
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get(), 1, rounded);
}

CallBuffers::CallBuffers(const Invocation& call, Values values) : output(call.output_bytes) {
  total_bytes = call.output_bytes;
  const OpTraits& op = TraitsOf(call.op);
  for (int i = 0; i < op.input_count(); ++i) {
    Buffer& input = inputs.emplace_back(call.input_bytes[i]);
    const DataType type = call.inputs[i].data_type;
    // Conditions are drawn from all bytes' lowest bit, so that both values are frequent.
    if (op.shape.is_condition(i)) {
      FillInput(type, Values::kAnyBits, {}, false, input);
      for (size_t at = 0; at < input.size(); ++at) input.data()[at] &= std::byte{1};
    } else {
      const bool is_divisor = i == 1 && op.input_count() == 2;
      FillInput(type, values, is_divisor ? kDivisors : UsualRange(op), is_divisor, input);
    }
    input_pointers.push_back(input.data());
    total_bytes += input.size();
  }
}

}  // namespace opserve::bench
