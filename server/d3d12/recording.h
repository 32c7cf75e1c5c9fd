// File: server/d3d12/recording.h
//
// Writes the command lists of batches and sequences. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_RECORDING_H_
#define OPSERVE_SERVER_D3D12_RECORDING_H_

#include <cstdint>
#include <vector>

#include "server/d3d12/buffer_pool.h"
#include "server/d3d12/content_transfers.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/runtime/api.h"
#include "server/d3d12/sequence_layout.h"
#include "server/d3d12/staging_ring.h"
#include "server/d3d12/submission_stamp.h"

namespace opserve::d3d12 {

using Buffer = ComPtr<ID3D12Resource>;
using Pipeline = ComPtr<ID3D12PipelineState>;

// The memory of one submission.
struct SubmissionMemory {
  // Shares of the copies that it reads and makes.
  ContentTransfers<Buffer> contents;
  // Ranges of the buffer of inputs; they lie in `upload` as there.
  std::vector<ByteRange> uploads = {};
  // Of a batch: ranges of the buffer of outputs that are read back; they lie in `readback` as
  // there.
  std::vector<ByteRange> readbacks = {};
  StagingRing::Lease upload = {};
  // To be read only once `stamp` has arrived in it; before, it may hold somebody else's results.
  StagingRing::Lease readback = {};
  SubmissionStamp stamp = {};
  // Of a batch whose kernels work on `upload` and `readback`: none, and no outputs. Of one that
  // goes by CopyQueues: both, with places for the stamp where `upload` and `readback` have it.
  BufferPool<Buffer>::Lease inputs = {};
  // One for a batch; for a sequence one per buffer of results.
  std::vector<BufferPool<Buffer>::Lease> outputs = {};
  // The word that kernels mark, of submissions with one that may leave elements open.
  BufferPool<Buffer>::Lease open = {};
  // The copy that a submission reads back which does nothing else.
  ContentCache<Buffer>::Share read = nullptr;
};

// Uploads, the dispatches, each in its pieces, one readback per range. Dispatches write different
// ranges, so nothing has to stand between those that read none of them.
void RecordBatch(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                 ID3D12PipelineState& pipeline, const BatchLayout& layout,
                 SubmissionMemory& memory);

// The dispatches alone, each in its pieces: kernels read the memory that the host has filled, and
// write to the memory that it reads. For kernels that read and write each byte once.
void RecordDirectBatch(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                       ID3D12PipelineState& pipeline, const BatchLayout& layout,
                       SubmissionMemory& memory);

// The lists of a batch that goes by CopyQueues: uploads; the dispatches, each in its pieces;
// readbacks. The stamp goes through all of them, since any may be dropped. Lists of copies
// need no barriers, of which their queues know few: buffers are in the common state between lists.
void RecordRelayUp(ID3D12GraphicsCommandList& list, SubmissionMemory& memory);
void RecordRelayBatch(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                      ID3D12PipelineState& pipeline, const BatchLayout& layout,
                      SubmissionMemory& memory);
void RecordRelayDown(ID3D12GraphicsCommandList& list, SubmissionMemory& memory);

// Uploads, a dispatch per step in its pieces, one readback of each output. `pipelines`: one per
// step.
void RecordSequence(ID3D12GraphicsCommandList& list, ID3D12RootSignature& root_signature,
                    const std::vector<Pipeline>& pipelines, const SequenceLayout& layout,
                    SubmissionMemory& memory);

// Reads back the first `bytes` bytes of a copy.
void RecordRead(ID3D12GraphicsCommandList& list, const ContentCache<Buffer>::Copy& copy,
                uint64_t bytes, SubmissionMemory& memory);

// The end of every command list that is submitted alone: copies the word that kernels mark, if
// there is one, and then the stamp to the memory that is read back.
void RecordStamp(ID3D12GraphicsCommandList& list, SubmissionMemory& memory);

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_RECORDING_H_
