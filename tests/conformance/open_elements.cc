#include "tests/conformance/open_elements.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/hlsl/expressions.h"
#include "tests/conformance/gpu_text.h"

namespace opserve::testing {
namespace {

// The elements of a tensor of FLOAT32 or FLOAT16, at whatever address.
class Elements {
 public:
  Elements(DataType type, GuardedInput& input)
      : is_half_(type == DataType::kFloat16), size_(SizeOf(type)), input_(input) {}

  size_t count() const { return input_.size() / size_; }

  uint32_t Get(size_t i) const {
    uint32_t bits = 0;
    std::memcpy(&bits, input_.data() + i * size_, size_);
    return bits;
  }
  void SetOne(size_t i) { Set(i, is_half_ ? 0x3c00 : 0x3f800000); }
  void SetTwo(size_t i) { Set(i, is_half_ ? 0x4000 : 0x40000000); }
  // Whether an element is from 1/8 to 8, or no finite number, or zero.
  bool IsModerate(size_t i) const {
    const uint32_t bits = Get(i);
    const auto exponent = static_cast<int>(is_half_ ? bits >> 10 & 31 : bits >> 23 & 255);
    const int one = is_half_ ? 15 : 127;
    const bool is_zero = (bits << (is_half_ ? 17 : 1)) == 0;
    return is_zero || exponent == 2 * one + 1 || (one - 3 <= exponent && exponent <= one + 3);
  }

 private:
  void Set(size_t i, uint32_t bits) { std::memcpy(input_.data() + i * size_, &bits, size_); }

  const bool is_half_;
  const size_t size_;
  GuardedInput& input_;
};

}  // namespace

void CloseOpenElements(const Invocation& call, std::vector<GuardedInput>& inputs) {
  if (!hlsl::LeavesOpen(call.op)) return;
  // Powers of integers by integers never are.
  if (!IsFloat(call.lane_type)) return;
  const GpuBody body = GpuBodyOf(call.op, call.lane_type);
  const bool is_pair = inputs.size() > 1;
  Elements first(call.lane_type, inputs.front());
  Elements last(call.lane_type, inputs.back());
  if (is_pair && !call.plan.is_packed()) {
    for (Elements* const elements : {&first, &last}) {
      for (size_t i = 0; i < elements->count(); ++i) {
        if (!elements->IsModerate(i)) elements->SetOne(i);
      }
    }
    return;
  }
  const auto is_open = [&](size_t i) {
    return body(first.Get(i), last.Get(i), call.attributes).is_open;
  };
  for (size_t i = 0; i < first.count(); ++i) {
    if (!is_open(i)) continue;
    first.SetOne(i);
    if (is_open(i)) first.SetTwo(i);
  }
}

}  // namespace opserve::testing
