// File: server/d3d12/content_transfers.h
//
// Which bytes of a submission come from copies that the device keeps, which have to be uploaded,
// and of which copies are kept from then on. Knows nothing of what a buffer is.

#ifndef OPSERVE_SERVER_D3D12_CONTENT_TRANSFERS_H_
#define OPSERVE_SERVER_D3D12_CONTENT_TRANSFERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "server/d3d12/content_cache.h"
#include "server/d3d12/dispatch.h"
#include "server/d3d12/sequence_layout.h"

namespace opserve::d3d12 {

// A range of bytes in the buffer of inputs.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
};

// Of one submission. Not thread-safe.
template <class Buffer>
class ContentTransfers {
 public:
  using Cache = ContentCache<Buffer>;

  // Bytes of a buffer of the submission, and the copy of them.
  struct CopiedRange {
    // Which of the buffers of results it is in.
    uint32_t buffer = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    ContentId content = kNoContent;
    typename Cache::Share copy;
    // Whether the device is the only one to have it, and so to hold its copy.
    bool is_volatile = false;
  };

  // `cache` must outlive the transfers. Without `reads_copies` all inputs are uploaded, whether
  // copies of them are kept or not.
  explicit ContentTransfers(Cache& cache, bool reads_copies = true)
      : cache_(&cache), reads_copies_(reads_copies) {}

  // An input in the buffer of inputs that is not uploaded because a copy is kept. False if none is,
  // or none is to be read: then there is no such input.
  bool AddKeptInput(uint64_t offset, uint64_t bytes, ContentId content) {
    if (content == kNoContent || !reads_copies_) return false;
    typename Cache::Share copy = cache_->Find(content, bytes);
    if (copy == nullptr) return false;
    kept_inputs_.push_back({0, offset, bytes, content, std::move(copy)});
    return true;
  }

  // An input in the buffer of inputs. Whether a copy is kept, so that it need not be uploaded.
  bool AddInput(uint64_t offset, uint64_t bytes, ContentId content) {
    if (AddKeptInput(offset, bytes, content)) return true;
    if (content != kNoContent && reads_copies_) {
      AddNewInput({0, offset, bytes, content, nullptr});
    }
    AddUpload(offset, bytes);
    return false;
  }

  // What else is uploaded to the buffer of inputs.
  void AddUpload(uint64_t offset, uint64_t bytes) { uploads_.push_back({offset, offset + bytes}); }

  // A result, as it lies in a buffer of results.
  void AddResult(uint32_t buffer, uint64_t offset, uint64_t bytes, const ResultContent& content) {
    if (content.id == kNoContent) return;
    new_results_.push_back({buffer, offset, bytes, content.id, nullptr, content.is_volatile});
    replaced_.push_back(content.replaced);
  }

  // The least ranges to upload to the buffer of inputs, which has `bytes` bytes: as few as there
  // can be without touching what comes from copies.
  std::vector<ByteRange> Uploads(uint64_t bytes) const {
    if (kept_inputs_.empty()) return {{0, bytes}};
    struct Piece {
      ByteRange range;
      bool is_kept;
    };
    std::vector<Piece> pieces;
    for (const ByteRange& upload : uploads_) pieces.push_back({upload, false});
    for (const CopiedRange& kept : kept_inputs_) {
      pieces.push_back({{kept.offset, kept.offset + kept.bytes}, true});
    }
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.range.begin < b.range.begin; });
    std::vector<ByteRange> uploads;
    bool follows_upload = false;
    for (const Piece& piece : pieces) {
      if (!piece.is_kept && !follows_upload) uploads.push_back(piece.range);
      if (!piece.is_kept) uploads.back().end = piece.range.end;
      follows_upload = !piece.is_kept;
    }
    return uploads;
  }

  // Takes room for the copies that are to be made; those for which there is none are left out.
  // Once the submission has the memory that it cannot do without.
  void TakeRoom() {
    std::erase_if(new_inputs_, [this](const CopiedRange& input) {
      return std::find(replaced_.begin(), replaced_.end(), input.content) != replaced_.end();
    });
    for (std::vector<CopiedRange>* ranges : {&new_inputs_, &new_results_}) {
      for (CopiedRange& range : *ranges) {
        if (range.is_volatile) range.copy = cache_->PrepareHeld(range.bytes);
        if (range.copy == nullptr) range.copy = cache_->Prepare(range.bytes);
      }
      std::erase_if(*ranges, [](const CopiedRange& range) { return range.copy == nullptr; });
    }
  }

  // The device is done: all copies hold what they should.
  void Keep() {
    // Their buffers serve the next results.
    for (const ContentId content : replaced_) cache_->Drop(content);
    for (std::vector<CopiedRange>* ranges : {&new_inputs_, &new_results_}) {
      for (CopiedRange& range : *ranges) cache_->Keep(range.content, std::move(range.copy));
      ranges->clear();
    }
  }

  // Whether a copy of this result is made that the device alone may have. After TakeRoom.
  bool MayStay(ContentId content) const {
    return std::any_of(
        new_results_.begin(), new_results_.end(), [content](const CopiedRange& result) {
          return result.content == content && (!result.is_volatile || result.copy->hold.is_set());
        });
  }

  // Inputs to be read from their copies, and what is to be copied after it has been uploaded or
  // computed.
  const std::vector<CopiedRange>& kept_inputs() const { return kept_inputs_; }
  const std::vector<CopiedRange>& new_inputs() const { return new_inputs_; }
  const std::vector<CopiedRange>& new_results() const { return new_results_; }

 private:
  // One copy of a content is enough.
  void AddNewInput(CopiedRange range) {
    const bool is_known =
        std::any_of(new_inputs_.begin(), new_inputs_.end(), [&range](const CopiedRange& other) {
          return other.content == range.content && other.bytes >= range.bytes;
        });
    if (!is_known) new_inputs_.push_back(std::move(range));
  }

  Cache* cache_;
  bool reads_copies_;
  std::vector<ByteRange> uploads_;
  std::vector<CopiedRange> kept_inputs_;
  std::vector<CopiedRange> new_inputs_;
  std::vector<CopiedRange> new_results_;
  std::vector<ContentId> replaced_;
};

// Adds an input, which is none any more if it comes from a copy. What is to be uploaded is brought
// to the host's memory now, before the submission holds anything that others wait for.
template <class Buffer>
void BringInput(uint64_t offset, uint64_t bytes, TensorBytes& input,
                ContentTransfers<Buffer>& transfers) {
  if (input.is_unread()) {
    if (transfers.AddKeptInput(offset, bytes, input.content())) {
      input = {};
      return;
    }
    input = input.Fetched();
  }
  if (transfers.AddInput(offset, bytes, input.content())) input = {};
}

// What a device is to keep of a result of `call`: the host has it, too, where that is handed over.
inline ResultContent KeptOf(ResultContent content, const DeviceCall& call) {
  if (call.hands_over) content.is_volatile = false;
  return content;
}

// Adds what calls bring and make to `transfers`. Returns the calls without the inputs that come
// from copies.
template <class Buffer>
std::vector<DeviceCall> AddContents(const BatchLayout& layout, std::span<const DeviceCall> calls,
                                    ContentTransfers<Buffer>& transfers) {
  std::vector<DeviceCall> uploads(calls.begin(), calls.end());
  for (size_t c = 0; c < uploads.size(); ++c) {
    DeviceCall& call = uploads[c];
    const CallPlace& place = layout.places[c];
    for (int i = 0; i < TraitsOf(call.invocation->op).input_count(); ++i) {
      TensorBytes& input = call.inputs[i];
      if (input.is_absent()) continue;
      BringInput(place.at.inputs[i], call.invocation->input_bytes[i], input, transfers);
    }
    if (layout.kernel.layout == hlsl::LayoutClass::kStrided) {
      transfers.AddUpload(place.at.plan, kPlanBytes);
    }
    // What the host puts in order is not in order on the device.
    if (!place.is_dense) {
      transfers.AddResult(0, place.at.output, place.result_bytes, KeptOf(call.content, call));
    }
  }
  return uploads;
}

// The same for a sequence.
template <class Buffer>
SequenceCall AddContents(const SequenceLayout& layout, const DeviceCall& of,
                         ContentTransfers<Buffer>& transfers) {
  const SequenceCall& call = *of.sequence;
  SequenceCall uploads = call;
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    TensorBytes& input = uploads.inputs[i];
    BringInput(layout.inputs[i], call.sequence->input_bytes[i], input, transfers);
  }
  for (const StepLayout& step : layout.steps) {
    if (step.is_strided()) transfers.AddUpload(step.plan, kPlanBytes);
  }
  for (size_t i = 0; i < call.contents.size(); ++i) {
    const SequenceOutputPlace& output = layout.outputs[i];
    if (output.place.is_dense) continue;
    transfers.AddResult(layout.steps[output.step].output, 0, output.place.result_bytes,
                        KeptOf(call.contents[i], of));
  }
  return uploads;
}

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_CONTENT_TRANSFERS_H_
