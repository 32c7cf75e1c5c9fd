#include "tests/fuzz/run_and_compare.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/cpu/cpu_executor.h"
#include "kernels/reference.h"
#include "server/d3d12/dispatch.h"
#include "tests/conformance/dispatch_model.h"

namespace opserve::fuzz {
namespace {

using Buffer = std::unique_ptr<std::byte[]>;

// Not make_unique: the buffer must have exactly this size and may be uninitialised.
Buffer MakeBuffer(uint64_t bytes) { return Buffer(new std::byte[bytes]); }

bool IsNan(DataType type, const std::byte* element) {
  if (type == DataType::kFloat32) {
    float value;
    std::memcpy(&value, element, sizeof(value));
    return std::isnan(value);
  }
  if (type == DataType::kFloat16) {
    uint16_t bits;
    std::memcpy(&bits, element, sizeof(bits));
    return (bits & 0x7FFF) > 0x7C00;
  }
  return false;
}

// NaN results are a class; everything else must agree to the bit.
bool Agree(DataType type, const std::byte* a, const std::byte* b, uint64_t bytes) {
  const size_t width = SizeOf(type);
  for (uint64_t i = 0; i < bytes; i += width) {
    const bool same = std::memcmp(a + i, b + i, width) == 0;
    if (!same && !(IsNan(type, a + i) && IsNan(type, b + i))) return false;
  }
  return true;
}

}  // namespace

void CheckGpuBounds(std::span<const DeviceCall> calls) {
  const auto layout = d3d12::LayOut(calls, d3d12::kMaxKernelBytes);
  if (!layout.ok()) return;  // too large for any device
  const std::string problem = testing::FirstOutOfBounds(calls, *layout);
  if (problem.empty()) return;
  std::fprintf(stderr, "%s: GPU kernel, %zu calls: %s\n",
               std::string(TraitsOf(calls[0].invocation->op).name).c_str(), calls.size(),
               problem.c_str());
  std::abort();
}

void RunAndCompare(const Invocation& invocation, std::span<const uint8_t> pool) {
  const DeviceCall call = {&invocation, {}, nullptr};
  CheckGpuBounds({&call, 1});
  static const CpuExecutor& executor = *new CpuExecutor(1);
  const size_t input_count = TraitsOf(invocation.op).inputs.size();
  std::array<Buffer, kMaxInputs> buffers;
  std::array<const std::byte*, kMaxInputs> inputs = {};
  size_t next = 0;
  for (size_t i = 0; i < input_count; ++i) {
    buffers[i] = MakeBuffer(invocation.input_bytes[i]);
    for (uint64_t b = 0; b < invocation.input_bytes[i]; ++b) {
      buffers[i][b] = pool.empty() ? std::byte{0} : std::byte{pool[next++ % pool.size()]};
    }
    inputs[i] = buffers[i].get();
  }
  const Buffer actual = MakeBuffer(invocation.output_bytes);
  const Buffer expected = MakeBuffer(invocation.output_bytes);
  const std::span<const std::byte* const> span(inputs.data(), input_count);
  executor.Run(invocation, span, actual.get());
  RunReference(invocation, span, expected.get());
  if (!Agree(invocation.output.data_type, actual.get(), expected.get(), invocation.output_bytes)) {
    std::fprintf(stderr, "%s: SIMD kernel and reference disagree\n",
                 std::string(TraitsOf(invocation.op).name).c_str());
    std::abort();
  }
}

}  // namespace opserve::fuzz
