// File: server/d3d12/dispatch.h
//
// What a batch of calls looks like on the device: which kernel, which constants, where everything
// lies. Pure arithmetic on the host. Root descriptors have no size, so the device checks no bounds:
// the invocations that Validate() made and the sizes that are computed here are the memory-safety
// boundary.

#ifndef OPSERVE_SERVER_D3D12_DISPATCH_H_
#define OPSERVE_SERVER_D3D12_DISPATCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/hlsl/kernel_key.h"
#include "kernels/invocation.h"
#include "server/d3d12/host_copy.h"
#include "server/device/compute_device.h"

namespace opserve::d3d12 {

// Every tensor and plan that a kernel binds begins at a multiple of so many bytes, the largest
// alignment that Vulkan lets a driver ask for.
inline constexpr uint64_t kTensorAlignment = 256;
// Kernels read and write, and copies move, words of so many bytes.
inline constexpr uint64_t kWordBytes = 4;
// A plan has so many bytes as strided kernels read it: 8 loops of 8 words each. Those of rows have
// the loops in both orders: that of the result, and that of rows.
inline constexpr uint64_t kPlanBytes = kMaxDimensionCount * 32;
// No buffer is larger than this, because kernels compute byte addresses in 32 bits.
inline constexpr uint64_t kMaxKernelBytes = uint64_t{1} << 31;

// Offsets in the two buffers of a batch: that of all inputs and plans, and that of all outputs.
struct Offsets {
  std::array<uint64_t, hlsl::kMaxKernelInputs> inputs = {};
  // Where the plan of a strided kernel lies; packed ones have none, and it is the end of the
  // inputs.
  uint64_t plan = 0;
  uint64_t output = 0;
};

// One dispatch of a kernel, in one command or, as dispatch_pieces.h says, several.
struct Dispatch {
  uint32_t block_count = 0;
  // What a block counts as for KernelCosts: the elements, or records, that become one record of a
  // row.
  uint32_t cost_per_block = 1;
  // Blocks that one command may compute; see KernelCosts.
  uint64_t most_blocks = UINT64_MAX;
  // Whether it reads what dispatches before it have written, as those of rows do.
  bool reads_earlier = false;
  // Of rows: what it does.
  hlsl::RowStage stage = hlsl::RowStage::kResults;
  // Root constants that the kernel reads.
  uint32_t loop_count = 0;
  AttributeValues attributes = {};
  // The type of each input, kUnknown where it is absent. Kernels read those of numbers.
  std::array<DataType, hlsl::kMaxKernelInputs> input_types = {};
  // Where its root descriptors point to.
  Offsets bound;
};

// Where one call of a batch lies.
struct CallPlace {
  Offsets at;
  // Bytes from at.output on that WriteResult reads.
  uint64_t result_bytes = 0;
  // Whether the device writes the elements densely, in the order of the plan, and the host puts
  // them where they belong. That is how it is for outputs whose strides interleave: there, a kernel
  // cannot find out by divisions which element belongs to a place.
  bool is_dense = false;
};

// A batch of one kernel. Packed calls share one dispatch: every input has an area that holds that
// input of all calls, one after the other, each call from a block of the kernel, and a whole word,
// on. Strided calls have a dispatch each, with areas and a plan of their own. Calls that compute
// rows have several, with records behind the results of all of them; those of all calls that need
// not wait for each other lie side by side.
struct BatchLayout {
  hlsl::KernelKey kernel;
  std::vector<Dispatch> dispatches;
  // One per call, in the order of the calls.
  std::vector<CallPlace> places;
  // Bytes of the two buffers. Kernels work in whole blocks; what the last one touches beyond a
  // tensor's end is included.
  uint64_t input_buffer_bytes = 0;
  uint64_t output_buffer_bytes = 0;
  // Bytes of the buffer of outputs up to the end of the last result.
  uint64_t result_bytes = 0;
};

// Lays out `calls`, at least one, all of one lane; their buffers are not looked at. UNIMPLEMENTED
// if they have a ScaleBias or a FusedActivation, which no kernel takes, or if one of them alone
// would need a buffer of more than `max_buffer_bytes` or kMaxKernelBytes, RESOURCE_EXHAUSTED if
// only all of them together do, INTERNAL if their lanes differ. Thread-safe, like all functions
// here.
absl::StatusOr<BatchLayout> LayOut(std::span<const DeviceCall> calls, uint64_t max_buffer_bytes);

// Writes the kPlanBytes bytes of the plan of a strided call.
void WritePlan(const Invocation& invocation, const CallPlace& place, std::byte* to);

// Adds copies of the first `bytes` bytes of a tensor, in their order to `to`, and clears the rest
// of their last word.
void AddInput(const TensorBytes& tensor, uint64_t bytes, std::byte* to, HostCopies& copies);

// Writes what the device reads of call `index` to its places in `to`, the buffer of inputs; what is
// only to be copied there is added to `copies`.
void WriteInputs(const BatchLayout& layout, size_t index, const DeviceCall& call, std::byte* to,
                 HostCopies& copies);

// Writes the result of a call from its place in `from`, the buffer of outputs, to the call's own
// output: invocation->output_bytes bytes, gaps as zero; or adds it to `copies`.
void WriteResult(const CallPlace& place, const DeviceCall& call, const std::byte* from,
                 HostCopies& copies);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_DISPATCH_H_
