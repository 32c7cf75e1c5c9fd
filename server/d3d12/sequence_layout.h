// File: server/d3d12/sequence_layout.h
//
// What a sequence looks like on the device: the kernels and constants of its steps, and where all
// tensors lie. Pure arithmetic on the host, and with dispatch.h the memory-safety boundary.

#ifndef OPSERVE_SERVER_D3D12_SEQUENCE_LAYOUT_H_
#define OPSERVE_SERVER_D3D12_SEQUENCE_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/sequence.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/host_copy.h"
#include "server/device/compute_device.h"

namespace opserve::d3d12 {

// Where a kernel finds an input.
struct StepInputPlace {
  // Number of one of the buffers of results, or kInputBuffer for the one of all inputs.
  uint32_t buffer = kInputBuffer;
  // The input's first byte in that buffer.
  uint64_t offset = 0;

  static constexpr uint32_t kInputBuffer = UINT32_MAX;
};

// One step, which has a dispatch of its own, or several where it computes rows.
struct StepLayout {
  hlsl::KernelKey kernel;
  // Only their numbers count: where the tensors are is what the members below say, and `bound`
  // says nothing.
  std::vector<Dispatch> dispatches;
  std::array<StepInputPlace, hlsl::kMaxKernelInputs> inputs = {};
  // First byte of the plan in the buffer of inputs, where the kernel is a strided one.
  uint64_t plan = 0;
  // The buffer of results, which the kernel writes from its beginning on, and whether it does so
  // densely (CallPlace::is_dense).
  uint32_t output = 0;
  bool is_dense = false;

  bool is_strided() const { return kernel.layout == hlsl::LayoutClass::kStrided; }
};

// An output of the sequence.
struct SequenceOutputPlace {
  uint32_t step = 0;
  // `at.output` is where it is in the memory that is read back.
  CallPlace place;
  // Whether it is not read back: the device alone has it.
  bool stays = false;
};

// Inputs and plans lie in one buffer, which is uploaded at once. Each result has a buffer to itself
// until the last step that reads it, or to the end if it is an output: a buffer is either written
// or read at a time.
struct SequenceLayout {
  std::vector<StepLayout> steps;
  // Per input: its first byte in the buffer of inputs.
  std::vector<uint64_t> inputs;
  uint64_t input_buffer_bytes = 0;
  // Bytes of each buffer of results, what the last block touches beyond its end included.
  std::vector<uint64_t> result_buffers;
  std::vector<SequenceOutputPlace> outputs;
  uint64_t readback_bytes = 0;
  // Bytes of all tensors of all steps, by which one can tell how long the sequence may take.
  uint64_t work_bytes = 0;
};

// Lays out `sequence`. UNIMPLEMENTED if one of its buffers would have more than `max_buffer_bytes`
// or kMaxKernelBytes, or if a step reads a result that kernels cannot write in its own layout.
// Thread-safe, like all functions here.
absl::StatusOr<SequenceLayout> LayOut(const SequenceInvocation& sequence,
                                      uint64_t max_buffer_bytes);

// Writes plans to their places in `to`, the buffer of inputs, and adds inputs, but those that are
// absent, to `copies`.
void WriteInputs(const SequenceLayout& layout, const SequenceCall& call, std::byte* to,
                 HostCopies& copies);

// Writes the outputs from their places in `from`, what was read back, to the call's own outputs, or
// adds them to `copies`.
void WriteResults(const SequenceLayout& layout, const SequenceCall& call, const std::byte* from,
                  HostCopies& copies);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_SEQUENCE_LAYOUT_H_
