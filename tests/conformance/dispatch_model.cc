#include "tests/conformance/dispatch_model.h"

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace opserve::testing {
namespace {

using d3d12::Dispatch;
using hlsl::LayoutClass;

// A loop as strided kernels read it.
struct PlanRow {
  uint32_t size;
  uint32_t output;
  std::array<uint32_t, kMaxInputs> inputs;
  std::array<uint32_t, 3> padding;
};
static_assert(sizeof(PlanRow) * kMaxDimensionCount == d3d12::kPlanBytes);

// Checks the accesses of one dispatch.
class Model {
 public:
  Model(const Invocation& call, const Dispatch& dispatch)
      : call_(call), dispatch_(dispatch), op_(TraitsOf(call.op)) {}

  std::string Run() {
    CheckPlaces();
    if (dispatch_.kernel.layout == LayoutClass::kPacked) {
      for (uint32_t block = 0; block < dispatch_.block_count; ++block) PackedBlock(block);
    } else {
      ReadPlan();
      for (uint32_t block = 0; block < dispatch_.block_count; ++block) StridedBlock(block);
    }
    return problem_;
  }

 private:
  int input_count() const { return op_.input_count(); }

  // Where the place of input `i` ends, as an offset in the buffer of the inputs.
  uint64_t EndOfPlace(int i) const {
    return i + 1 < input_count() ? dispatch_.input_offsets[i + 1] : dispatch_.plan_offset;
  }

  void Expect(bool holds, absl::string_view what, uint64_t at) {
    if (!holds && problem_.empty()) problem_ = absl::StrCat(what, " at ", at);
  }

  // Uploads, readback, alignment, and one thread per block.
  void CheckPlaces() {
    for (int i = 0; i < input_count(); ++i) {
      const uint64_t begin = dispatch_.input_offsets[i];
      Expect(begin % d3d12::kTensorAlignment == 0, "input is not aligned", begin);
      Expect(begin + call_.input_bytes[i] <= EndOfPlace(i), "upload of an input ends late", begin);
    }
    const bool has_plan = dispatch_.kernel.layout == LayoutClass::kStrided;
    Expect(dispatch_.plan_offset % d3d12::kTensorAlignment == 0, "plan is not aligned",
           dispatch_.plan_offset);
    Expect(
        dispatch_.plan_offset + (has_plan ? d3d12::kPlanBytes : 0) <= dispatch_.input_buffer_bytes,
        "plan ends late", dispatch_.plan_offset);
    Expect(dispatch_.result_bytes <= dispatch_.output_buffer_bytes, "readback ends late", 0);
    Expect(uint64_t{dispatch_.block_count} + dispatch_.thread_count < uint64_t{1} << 32,
           "block numbers wrap", dispatch_.block_count);
  }

  // Whole words around `bytes` bytes at `address` of input `i`.
  void Read(int i, uint32_t address, uint64_t bytes) {
    const uint64_t begin = dispatch_.input_offsets[i] + (address & ~3u);
    const uint64_t end = dispatch_.input_offsets[i] + (address + bytes + 3) / 4 * 4;
    Expect(begin < end && end <= EndOfPlace(i), "read outside of an input", address);
  }

  void Write(uint32_t address, uint64_t bytes) {
    Expect(address % 4 == 0 && bytes % 4 == 0, "write of less than a word", address);
    Expect(address + bytes <= dispatch_.output_buffer_bytes, "write outside of the output",
           address);
  }

  void PackedBlock(uint32_t block) {
    const uint32_t elements = hlsl::ElementsPerBlock(op_, call_.lane_type);
    for (int i = 0; i < input_count(); ++i) {
      const auto bytes = static_cast<uint32_t>(elements * SizeOf(call_.inputs[i].data_type));
      Read(i, block * bytes, bytes);
    }
    const auto bytes = static_cast<uint32_t>(elements * SizeOf(call_.output.data_type));
    Write(block * bytes, bytes);
  }

  void ReadPlan() {
    plan_.resize(kMaxDimensionCount);
    WritePlan(call_, dispatch_, reinterpret_cast<std::byte*>(plan_.data()));
    Expect(dispatch_.loop_count <= kMaxDimensionCount, "plan has too many loops",
           dispatch_.loop_count);
    plan_.resize(dispatch_.loop_count);
  }

  void StridedBlock(uint32_t block) {
    const uint32_t slots = hlsl::SlotsPerWord(op_, call_.lane_type);
    for (uint32_t slot = 0; slot < slots; ++slot) StridedSlot(block * slots + slot);
    const auto bytes = static_cast<uint32_t>(slots * SizeOf(call_.output.data_type));
    Write(block * bytes, bytes);
  }

  void StridedSlot(uint32_t rest) {
    bool is_gap = false;
    std::array<uint32_t, kMaxInputs> offsets = {};
    for (const PlanRow& row : plan_) {
      Expect(row.output != 0, "division by zero in the plan", rest);
      if (row.output == 0) return;
      const uint32_t index = rest / row.output;
      rest -= index * row.output;
      is_gap = is_gap || index >= row.size;
      for (int i = 0; i < kMaxInputs; ++i) offsets[i] += index * row.inputs[i];
    }
    if (is_gap || rest != 0) return;
    for (int i = 0; i < input_count(); ++i) {
      const auto size = static_cast<uint32_t>(SizeOf(call_.inputs[i].data_type));
      Read(i, offsets[i] * size, size);
    }
  }

  const Invocation& call_;
  const Dispatch& dispatch_;
  const OpTraits& op_;
  std::vector<PlanRow> plan_;
  std::string problem_;
};

}  // namespace

std::string FirstOutOfBounds(const Invocation& call, const Dispatch& dispatch) {
  return Model(call, dispatch).Run();
}

}  // namespace opserve::testing
