// File: server/d3d12/dispatch.h
//
// What a call looks like on the device: which kernel, which constants, where everything lies. Pure
// arithmetic on the host. Root descriptors have no size, so the device checks no bounds: the
// invocation that Validate() made and the sizes that are computed here are the memory-safety
// boundary.

#ifndef OPSERVE_SERVER_D3D12_DISPATCH_H_
#define OPSERVE_SERVER_D3D12_DISPATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/hlsl/kernel_key.h"
#include "kernels/invocation.h"

namespace opserve::d3d12 {

// Every tensor begins at a multiple of it; the most that Vulkan asks for.
inline constexpr uint64_t kTensorAlignment = 256;
// Bytes of a plan as strided kernels read it: 8 loops of 8 words.
inline constexpr uint64_t kPlanBytes = kMaxDimensionCount * 32;
// Kernels compute byte addresses in 32 bits.
inline constexpr uint64_t kMaxKernelBytes = uint64_t{1} << 31;

// One dispatch. All inputs, and the plan of a strided kernel, lie in one buffer.
struct Dispatch {
  hlsl::KernelKey kernel;
  uint32_t group_count = 0;
  // Root constants.
  uint32_t block_count = 0;
  uint32_t thread_count = 0;
  uint32_t loop_count = 0;
  std::array<uint64_t, kMaxInputs> input_offsets = {};
  uint64_t plan_offset = 0;
  // Bytes of the buffer of inputs and of that of the output, with what whole blocks touch more.
  uint64_t input_buffer_bytes = 0;
  uint64_t output_buffer_bytes = 0;
  // Bytes of the output that are of interest.
  uint64_t result_bytes = 0;
  // Whether the device writes the elements densely, in the order of the plan, and the host puts
  // them where they belong: for outputs whose strides interleave, so that a place does not tell by
  // divisions which element it holds.
  bool is_dense = false;
};

// Lays out `invocation`. UNIMPLEMENTED if a buffer would exceed `max_buffer_bytes` or
// kMaxKernelBytes. Thread-safe, like all functions here.
absl::StatusOr<Dispatch> LayOut(const Invocation& invocation, uint64_t max_buffer_bytes);

// Writes the kPlanBytes bytes of the plan for a strided kernel.
void WritePlan(const Invocation& invocation, const Dispatch& dispatch, std::byte* to);

// Writes the result of the device to its place: invocation.output_bytes bytes, gaps as zero.
void WriteResult(const Invocation& invocation, const Dispatch& dispatch, const std::byte* from,
                 std::byte* output);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_DISPATCH_H_
