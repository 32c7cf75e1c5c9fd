#include "server/d3d12/recording.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "kernels/hlsl/expressions.h"
#include "server/d3d12/buffer_use.h"
#include "server/d3d12/device.h"
#include "server/d3d12/dispatch_pieces.h"
#include "server/d3d12/runtime/hresult.h"

namespace opserve::d3d12 {
namespace {

constexpr auto kRead = D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE;

// Buffers return to the common state when a submission ends, and leave it by themselves when they
// are copied to or written; only what follows within a submission needs a barrier.
void Transition(ID3D12GraphicsCommandList& list, ID3D12Resource* buffer,
                D3D12_RESOURCE_STATES before, D3D12_RESOURCE_STATES after) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_TRANSITION;
  barrier.Transition = {buffer, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, before, after};
  list.ResourceBarrier(1, &barrier);
}

// Makes writes wait for those of earlier dispatches to the same buffer.
void SeparateWrites(ID3D12GraphicsCommandList& list, ID3D12Resource* buffer) {
  D3D12_RESOURCE_BARRIER barrier{};
  barrier.Type = D3D12_RESOURCE_BARRIER_TYPE_UAV;
  barrier.UAV.pResource = buffer;
  list.ResourceBarrier(1, &barrier);
}

// A place in a buffer.
struct BufferPlace {
  ID3D12Resource* buffer;
  uint64_t offset;
};

// Copies `bytes` bytes, and the rest of the last word: everything lies at multiples of a word, and
// nothing else in what a tensor leaves of its last one.
void Copy(ID3D12GraphicsCommandList& list, const BufferPlace& to, const BufferPlace& from,
          uint64_t bytes) {
  list.CopyBufferRegion(to.buffer, to.offset, from.buffer, from.offset, RoundUpToFour(bytes));
}

D3D12_RESOURCE_STATES StateOf(BufferUse use) {
  if (use == BufferUse::kRead) return kRead;
  if (use == BufferUse::kWritten) return D3D12_RESOURCE_STATE_UNORDERED_ACCESS;
  if (use == BufferUse::kCopiedFrom) return D3D12_RESOURCE_STATE_COPY_SOURCE;
  return D3D12_RESOURCE_STATE_COMMON;
}

// What a dispatch binds.
struct Addresses {
  std::array<D3D12_GPU_VIRTUAL_ADDRESS, hlsl::kMaxKernelInputs> inputs = {};
  D3D12_GPU_VIRTUAL_ADDRESS plan = 0;
  // The buffer of the output, and where in it that begins.
  BufferPlace output = {};
};

void RecordPiece(ID3D12GraphicsCommandList& list, const Dispatch& dispatch,
                 const hlsl::KernelKey& kernel, const Addresses& addresses,
                 const DispatchPiece& piece, SubmissionMemory& memory) {
  std::array<uint32_t, kRootConstantCount> constants = {piece.block_count, piece.thread_count,
                                                        dispatch.loop_count, memory.stamp.mark()};
  static_assert(kFirstAttribute + kMaxAttributes == kFirstHighAttribute);
  static_assert(kFirstHighAttribute + kMaxAttributes == kFirstNumberTypes);
  for (size_t i = 0; i < dispatch.attributes.size(); ++i) {
    constants[kFirstAttribute + i] = static_cast<uint32_t>(dispatch.attributes[i]);
    constants[kFirstHighAttribute + i] = static_cast<uint32_t>(dispatch.attributes[i] >> 32);
  }
  const OpTraits& op = TraitsOf(kernel.op);
  const auto number_types = hlsl::NumberTypesOf(op, dispatch.input_types);
  static_assert(kFirstNumberTypes + number_types.size() <= kRootConstantCount);
  std::copy(number_types.begin(), number_types.end(), &constants[kFirstNumberTypes]);
  list.SetComputeRoot32BitConstants(kRootConstants, kRootConstantCount, constants.data(), 0);
  for (int i = 0; i < op.input_count(); ++i) {
    list.SetComputeRootShaderResourceView(RootInput(i), addresses.inputs[i] + piece.inputs[i]);
  }
  if (kernel.layout == hlsl::LayoutClass::kStrided) {
    list.SetComputeRootShaderResourceView(kRootPlan, addresses.plan);
  }
  const BufferPlace& output = addresses.output;
  if (piece.writes_again) SeparateWrites(list, output.buffer);
  list.SetComputeRootUnorderedAccessView(
      kRootOutput, output.buffer->GetGPUVirtualAddress() + output.offset + piece.output);
  if (hlsl::LeavesOpen(kernel.op)) {
    ID3D12Resource* const open = memory.open->Get();
    SeparateWrites(list, open);
    list.SetComputeRootUnorderedAccessView(kRootOpen, open->GetGPUVirtualAddress());
  }
  // It has no result, but tests count it.
  OPSERVE_HRESULT((list.Dispatch(piece.group_count, 1, 1), 0)).IgnoreError();
}

void RecordDispatch(ID3D12GraphicsCommandList& list, const Dispatch& dispatch,
                    const hlsl::KernelKey& kernel, const Addresses& addresses,
                    SubmissionMemory& memory) {
  if (dispatch.reads_earlier) SeparateWrites(list, addresses.output.buffer);
  for (const DispatchPiece& piece : PiecesOf(kernel, dispatch)) {
    RecordPiece(list, dispatch, kernel, addresses, piece, memory);
  }
}

BufferPlace PlaceOf(const ContentCache<Buffer>::Copy& copy) {
  return {copy.place.buffer().Get(), copy.place.offset()};
}

// Slabs of which one copy has been read and another one is written: no buffer is in both states at
// a time.
void ReadThenWrite(ID3D12GraphicsCommandList& list, const ContentTransfers<Buffer>& contents) {
  std::set<ID3D12Resource*> slabs;
  for (const auto& kept : contents.kept_inputs()) slabs.insert(PlaceOf(*kept.copy).buffer);
  for (const auto* ranges : {&contents.new_inputs(), &contents.new_results()}) {
    for (const auto& fresh : *ranges) {
      ID3D12Resource* const slab = PlaceOf(*fresh.copy).buffer;
      if (slabs.erase(slab) == 0) continue;
      Transition(list, slab, D3D12_RESOURCE_STATE_COPY_SOURCE, D3D12_RESOURCE_STATE_COPY_DEST);
    }
  }
}

// Fills the buffer of inputs from the staging memory and from copies, and makes copies of what is
// new. Nothing is written twice, so nothing has to stand between the writes.
void RecordInputs(ID3D12GraphicsCommandList& list, SubmissionMemory& memory) {
  ID3D12Resource* const inputs = memory.inputs->Get();
  for (const ByteRange& range : memory.uploads) {
    Copy(list, {inputs, range.begin},
         {memory.upload.buffer(), memory.upload.offset() + range.begin}, range.bytes());
  }
  for (const auto& kept : memory.contents.kept_inputs()) {
    Copy(list, {inputs, kept.offset}, PlaceOf(*kept.copy), kept.bytes);
  }
  ReadThenWrite(list, memory.contents);
  Transition(list, inputs, D3D12_RESOURCE_STATE_COPY_DEST,
             kRead | D3D12_RESOURCE_STATE_COPY_SOURCE);
  for (const auto& fresh : memory.contents.new_inputs()) {
    Copy(list, PlaceOf(*fresh.copy), {inputs, fresh.offset}, fresh.bytes);
  }
}

// The dispatches of a batch, whose buffers begin at these places.
void RecordDispatches(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                      ID3D12PipelineState& pipeline, const BatchLayout& layout,
                      const BufferPlace& inputs, const BufferPlace& outputs,
                      SubmissionMemory& memory) {
  list.SetComputeRootSignature(&root_signature);
  list.SetPipelineState(&pipeline);
  const D3D12_GPU_VIRTUAL_ADDRESS first_input =
      inputs.buffer->GetGPUVirtualAddress() + inputs.offset;
  for (const Dispatch& dispatch : layout.dispatches) {
    Addresses addresses;
    for (size_t i = 0; i < addresses.inputs.size(); ++i) {
      addresses.inputs[i] = first_input + dispatch.bound.inputs[i];
    }
    addresses.plan = first_input + dispatch.bound.plan;
    addresses.output = {outputs.buffer, outputs.offset + dispatch.bound.output};
    RecordDispatch(list, dispatch, layout.kernel, addresses, memory);
  }
}

// The buffers of results of a sequence, and how each was used last.
class ResultBuffers {
 public:
  ResultBuffers(ID3D12GraphicsCommandList& list, SubmissionMemory& memory)
      : list_(list), memory_(memory), uses_(memory.outputs.size(), BufferUse::kNone) {}

  // The buffer, for `use` from here on. What was written before is seen by what comes later.
  ID3D12Resource* For(BufferUse use, uint32_t buffer) {
    ID3D12Resource* const resource = memory_.outputs[buffer]->Get();
    const BufferUse before = std::exchange(uses_[buffer], use);
    const BufferBarrier barrier = BarrierBetween(before, use);
    if (barrier == BufferBarrier::kTransition) {
      Transition(list_, resource, StateOf(before), StateOf(use));
    } else if (barrier == BufferBarrier::kWrites) {
      SeparateWrites(list_, resource);
    }
    return resource;
  }

 private:
  ID3D12GraphicsCommandList& list_;
  SubmissionMemory& memory_;
  std::vector<BufferUse> uses_;
};

}  // namespace

void RecordBatch(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                 ID3D12PipelineState& pipeline, const BatchLayout& layout,
                 SubmissionMemory& memory) {
  RecordInputs(list, memory);
  ID3D12Resource* const outputs = memory.outputs[0]->Get();
  RecordDispatches(list, root_signature, pipeline, layout, {memory.inputs->Get(), 0}, {outputs, 0},
                   memory);
  Transition(list, outputs, D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
             D3D12_RESOURCE_STATE_COPY_SOURCE);
  for (const ByteRange& range : memory.readbacks) {
    Copy(list, {memory.readback.buffer(), memory.readback.offset() + range.begin},
         {outputs, range.begin}, range.bytes());
  }
  for (const auto& fresh : memory.contents.new_results()) {
    Copy(list, PlaceOf(*fresh.copy), {outputs, fresh.offset}, fresh.bytes);
  }
}

void RecordDirectBatch(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                       ID3D12PipelineState& pipeline, const BatchLayout& layout,
                       SubmissionMemory& memory) {
  RecordDispatches(list, root_signature, pipeline, layout,
                   {memory.upload.buffer(), memory.upload.offset()},
                   {memory.readback.buffer(), memory.readback.offset()}, memory);
  Transition(list, memory.readback.buffer(), D3D12_RESOURCE_STATE_UNORDERED_ACCESS,
             D3D12_RESOURCE_STATE_COPY_DEST);
}

void RecordRelayUp(ID3D12GraphicsCommandList& list, SubmissionMemory& memory) {
  Copy(list, {memory.inputs->Get(), 0}, {memory.upload.buffer(), memory.upload.offset()},
       memory.stamp.upload_bytes());
}

void RecordRelayBatch(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                      ID3D12PipelineState& pipeline, const BatchLayout& layout,
                      SubmissionMemory& memory) {
  ID3D12Resource* const inputs = memory.inputs->Get();
  ID3D12Resource* const outputs = memory.outputs[0]->Get();
  Copy(list, {outputs, memory.stamp.readback_offset()}, {inputs, memory.stamp.upload_offset()},
       SubmissionStamp::kBytes);
  Transition(list, outputs, D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_UNORDERED_ACCESS);
  RecordDispatches(list, root_signature, pipeline, layout, {inputs, 0}, {outputs, 0}, memory);
}

void RecordRelayDown(ID3D12GraphicsCommandList& list, SubmissionMemory& memory) {
  const StagingRing::Lease& readback = memory.readback;
  const uint64_t mark = memory.stamp.mark_offset();
  Copy(list, {readback.buffer(), readback.offset()}, {memory.outputs[0]->Get(), 0}, mark);
  if (memory.open.bytes() == 0) return;
  Copy(list, {readback.buffer(), readback.offset() + mark}, {memory.open->Get(), 0},
       SubmissionStamp::kMarkBytes);
}

void RecordSequence(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                    const std::vector<Pipeline>& pipelines, const SequenceLayout& layout,
                    SubmissionMemory& memory) {
  RecordInputs(list, memory);
  list.SetComputeRootSignature(&root_signature);
  const D3D12_GPU_VIRTUAL_ADDRESS first_input = memory.inputs->Get()->GetGPUVirtualAddress();
  ResultBuffers results(list, memory);
  for (size_t s = 0; s < layout.steps.size(); ++s) {
    const StepLayout& step = layout.steps[s];
    Addresses addresses;
    for (size_t i = 0; i < addresses.inputs.size(); ++i) {
      const StepInputPlace& input = step.inputs[i];
      const bool is_result = input.buffer != StepInputPlace::kInputBuffer;
      addresses.inputs[i] =
          input.offset + (is_result
                              ? results.For(BufferUse::kRead, input.buffer)->GetGPUVirtualAddress()
                              : first_input);
    }
    addresses.plan = first_input + step.plan;
    addresses.output = {results.For(BufferUse::kWritten, step.output), 0};
    list.SetPipelineState(pipelines[s].Get());
    for (const Dispatch& dispatch : step.dispatches) {
      RecordDispatch(list, dispatch, step.kernel, addresses, memory);
    }
  }
  for (const SequenceOutputPlace& output : layout.outputs) {
    if (output.stays) continue;
    ID3D12Resource* const source =
        results.For(BufferUse::kCopiedFrom, layout.steps[output.step].output);
    Copy(list, {memory.readback.buffer(), memory.readback.offset() + output.place.at.output},
         {source, 0}, output.place.result_bytes);
  }
  for (const auto& fresh : memory.contents.new_results()) {
    ID3D12Resource* const source = results.For(BufferUse::kCopiedFrom, fresh.buffer);
    Copy(list, PlaceOf(*fresh.copy), {source, fresh.offset}, fresh.bytes);
  }
}

void RecordRead(ID3D12GraphicsCommandList& list, const ContentCache<Buffer>::Copy& copy,
                uint64_t bytes, SubmissionMemory& memory) {
  Copy(list, {memory.readback.buffer(), memory.readback.offset()}, PlaceOf(copy), bytes);
}

void RecordStamp(ID3D12GraphicsCommandList& list, SubmissionMemory& memory) {
  const SubmissionStamp& stamp = memory.stamp;
  if (memory.open.bytes() > 0) {
    ID3D12Resource* const open = memory.open->Get();
    Transition(list, open, D3D12_RESOURCE_STATE_UNORDERED_ACCESS, D3D12_RESOURCE_STATE_COPY_SOURCE);
    Copy(list, {memory.readback.buffer(), memory.readback.offset() + stamp.mark_offset()},
         {open, 0}, SubmissionStamp::kMarkBytes);
  }
  Copy(list, {memory.readback.buffer(), memory.readback.offset() + stamp.readback_offset()},
       {memory.upload.buffer(), memory.upload.offset() + stamp.upload_offset()},
       SubmissionStamp::kBytes);
}

}  // namespace opserve::d3d12
