#include "tests/conformance/dispatch_model.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/hlsl/expressions.h"
#include "server/d3d12/dispatch_pieces.h"

namespace opserve::testing {
namespace {

using d3d12::BatchLayout;
using d3d12::CallPlace;
using d3d12::Dispatch;
using d3d12::DispatchPiece;
using hlsl::LayoutClass;

// A loop as strided kernels read it.
struct PlanRow {
  uint32_t size;
  uint32_t output;
  std::array<uint32_t, hlsl::kMaxStridedInputs> inputs;
  // Of rows: the loop that is here in their order.
  uint32_t row_loop_size;
  uint32_t row_loop_stride;
  uint32_t padding;
};
static_assert(sizeof(PlanRow) * kMaxDimensionCount == d3d12::kPlanBytes);

// What a byte holds: nothing, or tensor `t` of call `k`, as OwnerOf tells; plans count as the
// tensor after the inputs.
using Owner = uint32_t;
constexpr Owner kNobody = 0;

Owner OwnerOf(size_t call, int tensor) {
  return static_cast<Owner>(call * (hlsl::kMaxKernelInputs + 1) + static_cast<size_t>(tensor) + 1);
}
size_t CallOf(Owner owner) { return (owner - 1) / (hlsl::kMaxKernelInputs + 1); }

// A record that a kernel of rows has left in a word.
struct RecordWord {
  size_t call = 0;
  // Of the dispatches between which nothing stands; 0: there is no record.
  int level = 0;
};

// As root constants tell it.
hlsl::RowConstants RowConstantsOf(const AttributeValues& values) {
  const auto low = [&values](size_t i) { return static_cast<uint32_t>(values[i]); };
  const auto high = [&values](size_t i) { return static_cast<uint32_t>(values[i] >> 32); };
  return {static_cast<hlsl::RowStage>(low(0)),
          low(1),
          low(2),
          low(3),
          high(0),
          high(1),
          high(2),
          high(3)};
}

// Checks the accesses of one batch.
class Model {
 public:
  Model(std::span<const DeviceCall> calls, const BatchLayout& layout)
      : calls_(calls),
        layout_(layout),
        first_(*calls[0].invocation),
        op_(TraitsOf(first_.op)),
        is_strided_(layout.kernel.layout == LayoutClass::kStrided),
        is_row_(op_.shape.is_row),
        inputs_(layout.input_buffer_bytes, kNobody),
        outputs_(layout.output_buffer_bytes, kNobody),
        records_(layout.output_buffer_bytes / d3d12::kWordBytes + 1) {}

  std::string Run() {
    Expect(layout_.places.size() == calls_.size(), "calls without a place", 0);
    const bool has_all = is_row_ ? layout_.dispatches.size() > calls_.size()
                                 : layout_.dispatches.size() == (is_strided_ ? calls_.size() : 1);
    Expect(has_all, "dispatches", 0);
    Expect(layout_.result_bytes <= layout_.output_buffer_bytes, "readback ends late", 0);
    for (size_t k = 0; problem_.empty() && k < calls_.size(); ++k) PlaceCall(k);
    for (size_t d = 0; problem_.empty() && d < layout_.dispatches.size(); ++d) RunDispatch(d);
    const auto unwritten = std::find_if(outputs_.begin(), outputs_.end(),
                                        [](Owner owner) { return owner != kNobody; });
    if (unwritten != outputs_.end()) {
      Expect(false, "result is not written", static_cast<uint64_t>(unwritten - outputs_.begin()));
    }
    return problem_;
  }

 private:
  int input_count() const { return op_.input_count(); }

  void Expect(bool holds, absl::string_view what, uint64_t at) {
    if (!holds && problem_.empty()) problem_ = absl::StrCat(what, " at ", at);
  }

  // Gives bytes to an owner; nobody else may have them.
  void Give(std::vector<Owner>& bytes, uint64_t begin, uint64_t count, Owner owner) {
    const bool fits = begin <= bytes.size() && count <= bytes.size() - begin;
    Expect(fits, "place ends late", begin);
    if (!fits) return;
    const auto from = bytes.begin() + static_cast<ptrdiff_t>(begin);
    const auto to = from + static_cast<ptrdiff_t>(count);
    Expect(std::all_of(from, to, [](Owner each) { return each == kNobody; }), "places overlap",
           begin);
    std::fill(from, to, owner);
  }

  // What the host copies there and back.
  void PlaceCall(size_t k) {
    const CallPlace& place = layout_.places[k];
    const Invocation& call = *calls_[k].invocation;
    CheckFirstElement(k);
    for (int i = 0; i < input_count(); ++i) {
      Give(inputs_, place.at.inputs[i], call.input_bytes[i], OwnerOf(k, i));
    }
    if (is_strided_) {
      Give(inputs_, place.at.plan, d3d12::kPlanBytes, OwnerOf(k, input_count()));
    }
    Give(outputs_, place.at.output, place.result_bytes, OwnerOf(k, 0));
    Expect(place.at.output + place.result_bytes <= layout_.result_bytes, "result is not read back",
           place.at.output);
  }

  // The element of the kernel that is the call's first one; the same in all tensors.
  void CheckFirstElement(size_t k) {
    const d3d12::Offsets& at = layout_.places[k].at;
    const d3d12::Offsets& bound = layout_.dispatches[FirstDispatchOf(k)].bound;
    const uint64_t first = (at.output - bound.output) / SizeOf(first_.output.data_type);
    const uint64_t unit = hlsl::ElementsPerBlock(first_.output.data_type);
    Expect(is_strided_ ? first == 0 : first % unit == 0, "call begins within a block", at.output);
    Expect(at.output == bound.output + first * SizeOf(first_.output.data_type),
           "output is elsewhere", at.output);
    for (int i = 0; i < input_count(); ++i) {
      Expect(at.inputs[i] == bound.inputs[i] + first * SizeOf(first_.inputs[i].data_type),
             "input is elsewhere", at.inputs[i]);
    }
  }

  // Those of rows are told by their plan.
  bool IsDispatchOf(size_t d, size_t k) const {
    if (is_row_) return layout_.dispatches[d].bound.plan == layout_.places[k].at.plan;
    return !is_strided_ || d == k;
  }
  size_t FirstDispatchOf(size_t k) const {
    size_t d = 0;
    while (d + 1 < layout_.dispatches.size() && !IsDispatchOf(d, k)) ++d;
    return d;
  }
  size_t CallOfDispatch(size_t d) const {
    size_t k = 0;
    while (k + 1 < calls_.size() && !IsDispatchOf(d, k)) ++k;
    return k;
  }

  void RunDispatch(size_t d) {
    dispatch_ = &layout_.dispatches[d];
    call_number_ = CallOfDispatch(d);
    call_ = is_strided_ ? calls_[call_number_].invocation : &first_;
    level_ += dispatch_->reads_earlier ? 1 : 0;
    row_ = RowConstantsOf(dispatch_->attributes);
    CheckBindings();
    if (is_strided_) ReadPlan(call_number_);
    writers_.assign(layout_.output_buffer_bytes / d3d12::kWordBytes + 1, 0);
    const std::vector<DispatchPiece> pieces = PiecesOf(layout_.kernel, *dispatch_);
    for (size_t p = 0; problem_.empty() && p < pieces.size(); ++p) {
      piece_ = &pieces[p];
      piece_number_ = static_cast<uint32_t>(p + 1);
      RunPiece();
    }
  }

  // Every thread of a command.
  void RunPiece() {
    CheckPiece();
    uint64_t computed = 0;
    const uint32_t threads = piece_->group_count * hlsl::kThreadsPerGroup;
    for (uint32_t thread = 0; problem_.empty() && thread < threads; ++thread) {
      for (uint32_t block = thread; problem_.empty() && block < piece_->block_count;
           block += piece_->thread_count) {
        ++computed;
        block_owner_ = kNobody;
        if (is_row_ && row_.stage != hlsl::RowStage::kResults) {
          RowBlock(block);
        } else if (is_strided_) {
          StridedBlock(block);
        } else {
          PackedBlock(block);
        }
      }
    }
    Expect(computed <= piece_->computed_blocks, "more blocks than told", computed);
  }

  // Alignment, numbers of blocks, and that it is no longer than it may be.
  void CheckPiece() {
    for (const uint64_t offset : piece_->inputs) {
      Expect(offset % d3d12::kTensorAlignment == 0, "input of a piece is not aligned", offset);
    }
    Expect(piece_->output % d3d12::kTensorAlignment == 0, "output of a piece is not aligned",
           piece_->output);
    const uint64_t step = uint64_t{hlsl::BlocksPerStep(layout_.kernel)} * piece_->thread_count;
    Expect(piece_->block_count + step < uint64_t{1} << 32, "block numbers wrap",
           piece_->block_count);
    Expect(piece_->group_count > 0 && piece_->group_count <= 65535 && piece_->thread_count > 0,
           "threads of a piece", piece_->thread_count);
    Expect(piece_->computed_blocks <= std::max(dispatch_->most_blocks, d3d12::kLeastPieceBlocks),
           "piece is too long", piece_->computed_blocks);
  }

  // Where the area of input `i` begins and ends.
  std::pair<uint64_t, uint64_t> AreaOf(int i) const {
    const d3d12::Offsets& bound = dispatch_->bound;
    return {bound.inputs[i], i + 1 < input_count() ? bound.inputs[i + 1] : bound.plan};
  }

  // Alignment.
  void CheckBindings() {
    const d3d12::Offsets& bound = dispatch_->bound;
    for (int i = 0; i < input_count(); ++i) {
      const auto [begin, end] = AreaOf(i);
      Expect(begin % d3d12::kTensorAlignment == 0, "input is not aligned", begin);
      Expect(begin < end && end <= layout_.input_buffer_bytes, "area of an input ends late", begin);
    }
    Expect(bound.plan % d3d12::kTensorAlignment == 0, "plan is not aligned", bound.plan);
    Expect(bound.output % d3d12::kTensorAlignment == 0, "output is not aligned", bound.output);
  }

  // `bytes` bytes at `address` of input `i`, and the whole words around them.
  void Read(int i, uint32_t address, uint64_t bytes) {
    const auto [area, end_of_area] = AreaOf(i);
    const uint64_t first = area + piece_->inputs[i];
    const uint64_t begin = first + (address & ~3u);
    const uint64_t end = first + (address + bytes + 3) / 4 * 4;
    const bool is_inside = begin < end && end <= end_of_area;
    Expect(is_inside, "read outside of an input", address);
    if (!is_inside) return;
    for (uint64_t at = first + address; at < first + address + bytes; ++at) {
      if (inputs_[at] == kNobody) continue;
      Expect(inputs_[at] == OwnerOf(CallOf(inputs_[at]), i), "read of another tensor", at);
      Belong(inputs_[at], at);
    }
  }

  void Write(uint32_t address, uint64_t bytes) {
    const uint64_t begin = dispatch_->bound.output + piece_->output + address;
    Expect(address % 4 == 0 && bytes % 4 == 0, "write of less than a word", begin);
    const bool is_inside = begin + bytes <= layout_.output_buffer_bytes;
    Expect(is_inside, "write outside of the output", begin);
    if (!is_inside) return;
    for (uint64_t word = begin / 4; word < (begin + bytes) / 4; ++word) {
      const bool is_first = writers_[word] == 0 || writers_[word] == piece_number_;
      Expect(is_first || piece_->writes_again, "pieces write the same word", begin);
      writers_[word] = piece_number_;
    }
    for (uint64_t at = begin; at < begin + bytes; ++at) {
      Expect(records_[at / 4].level == 0 || IsReduction(), "result over a record", at);
      if (outputs_[at] == kNobody) continue;
      Belong(outputs_[at], at);
      outputs_[at] = kNobody;  // written
    }
  }

  // All bytes of a block that are anybody's must be of one call.
  void Belong(Owner owner, uint64_t at) {
    if (block_owner_ == kNobody) block_owner_ = owner;
    Expect(CallOf(block_owner_) == CallOf(owner), "block of two calls", at);
  }

  void PackedBlock(uint32_t block) {
    const uint32_t elements = hlsl::ElementsPerBlock(first_.output.data_type);
    for (int i = 0; i < input_count(); ++i) {
      const auto bytes = static_cast<uint32_t>(elements * SizeOf(first_.inputs[i].data_type));
      Read(i, block * bytes, bytes);
    }
    const auto bytes = static_cast<uint32_t>(elements * SizeOf(first_.output.data_type));
    Write(block * bytes, bytes);
  }

  // The plan as the dispatch finds it where it looks for it.
  void ReadPlan(size_t k) {
    const uint64_t at = dispatch_->bound.plan;
    for (uint64_t byte = at; byte < at + d3d12::kPlanBytes; ++byte) {
      const bool is_plan = byte < inputs_.size() && inputs_[byte] == OwnerOf(k, input_count());
      Expect(is_plan, "plan is not there", byte);
    }
    plan_.resize(kMaxDimensionCount);
    WritePlan(*call_, layout_.places[k], reinterpret_cast<std::byte*>(plan_.data()));
    Expect(dispatch_->loop_count <= kMaxDimensionCount, "plan has too many loops",
           dispatch_->loop_count);
    plan_.resize(std::min<size_t>(dispatch_->loop_count, kMaxDimensionCount));
  }

  bool IsReduction() const { return is_row_ && row_.stage != hlsl::RowStage::kResults; }
  uint32_t RecordWords(hlsl::RowStage stage) const {
    return stage == hlsl::RowStage::kLargest ? hlsl::RowConstants::kLargestWords
                                             : hlsl::RowConstants::kSumWords;
  }

  // A record of this call, which an earlier dispatch has left.
  void ReadRecord(uint32_t first_word, uint32_t words) {
    for (uint32_t word = first_word; word < first_word + words; ++word) {
      const uint64_t at = dispatch_->bound.output / 4 + word;
      const bool is_there = at < records_.size() && records_[at].level > 0 &&
                            records_[at].level < level_ && records_[at].call == call_number_;
      Expect(is_there, "record is not there", at * 4);
    }
  }

  void WriteRecord(uint32_t first_word, uint32_t words) {
    Write(first_word * 4, words * 4);
    for (uint32_t word = first_word; word < first_word + words; ++word) {
      const uint64_t at = dispatch_->bound.output / 4 + word;
      if (!problem_.empty()) return;
      Expect(outputs_[at * 4] == kNobody && at * 4 >= layout_.result_bytes, "record over a result",
             at * 4);
      Expect(records_[at].level == 0 || records_[at].level == level_, "record over another",
             at * 4);
      records_[at] = {call_number_, level_};
    }
  }

  void ReadElementOfRow(uint32_t row, uint32_t place) {
    uint32_t offset = 0;
    uint32_t rest = place;
    for (auto i = static_cast<uint32_t>(plan_.size()); i > 0; --i) {
      if (i == row_.first_row_loop) rest = row;
      const PlanRow& loop = plan_[i - 1];
      Expect(loop.row_loop_size != 0, "division by zero in the plan", place);
      if (loop.row_loop_size == 0) return;
      offset += rest % loop.row_loop_size * loop.row_loop_stride;
      rest /= loop.row_loop_size;
    }
    Expect(rest == 0, "place outside of a row", place);
    const auto size = static_cast<uint32_t>(SizeOf(first_.inputs[0].data_type));
    Read(0, offset * size, size);
  }

  // What a thread of a stage before the last one does for one record.
  void RowBlock(uint32_t block) {
    const uint32_t words = RecordWords(row_.stage);
    const uint32_t row = block / row_.part_count;
    const bool reads_elements = row_.inputs_at == hlsl::RowConstants::kNoRecords;
    const bool has_sums = row_.stage == hlsl::RowStage::kSums;
    for (uint32_t place = block % row_.part_count; place < row_.input_count;
         place += row_.part_count) {
      if (reads_elements || has_sums) ReadElementOfRow(row, place);
      if (!reads_elements) {
        ReadRecord(row_.inputs_at + (row * row_.input_count + place) * words, words);
      }
      if (has_sums) ReadRecord(row_.largest_at + row * 2, 2);
    }
    WriteRecord(row_.records_at + block * words, words);
  }

  void StridedBlock(uint32_t block) {
    const uint32_t slots = hlsl::ElementsPerBlock(first_.output.data_type);
    for (uint32_t slot = 0; slot < slots; ++slot) StridedSlot(block * slots + slot);
    const auto bytes = static_cast<uint32_t>(slots * SizeOf(first_.output.data_type));
    Write(block * bytes, bytes);
  }

  void StridedSlot(uint32_t rest) {
    bool is_gap = false;
    std::array<uint32_t, hlsl::kMaxStridedInputs> offsets = {};
    for (const PlanRow& row : plan_) {
      Expect(row.output != 0, "division by zero in the plan", rest);
      if (row.output == 0) return;
      const uint32_t index = rest / row.output;
      rest -= index * row.output;
      is_gap = is_gap || index >= row.size;
      for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += index * row.inputs[i];
    }
    if (is_gap || rest != 0) return;
    if (is_row_) {
      ReadRecord(row_.largest_at + offsets[1] * 2, 2);
      if (hlsl::LeavesOpen(op_.id)) ReadRecord(row_.sums_at + offsets[1] * 8, 8);
    }
    for (int i = 0; i < input_count(); ++i) {
      const auto size = static_cast<uint32_t>(SizeOf(first_.inputs[i].data_type));
      const std::optional<int> position = hlsl::StridePosition(op_, i);
      // What is absent is read, too, at its first word.
      Read(i, (position ? offsets[*position] : 0) * size, std::max(size, 1u));
    }
  }

  const std::span<const DeviceCall> calls_;
  const BatchLayout& layout_;
  const Invocation& first_;
  const OpTraits& op_;
  const bool is_strided_;
  const bool is_row_;
  std::vector<Owner> inputs_;
  // Nobody again once written.
  std::vector<Owner> outputs_;
  std::vector<RecordWord> records_;
  const Dispatch* dispatch_ = nullptr;
  const DispatchPiece* piece_ = nullptr;
  // Of the dispatch, from 1 on.
  uint32_t piece_number_ = 0;
  // The piece that wrote each word of the buffer of outputs; 0: none of this dispatch.
  std::vector<uint32_t> writers_;
  const Invocation* call_ = nullptr;
  size_t call_number_ = 0;
  int level_ = 1;
  hlsl::RowConstants row_;
  Owner block_owner_ = kNobody;
  std::vector<PlanRow> plan_;
  std::string problem_;
};

}  // namespace

std::string FirstOutOfBounds(std::span<const DeviceCall> calls, const BatchLayout& layout) {
  return Model(calls, layout).Run();
}

}  // namespace opserve::testing
