#include "server/d3d12/sequence_layout.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/d3d12/buffer_pool.h"

namespace opserve::d3d12 {
namespace {

using Kind = TensorSource::Kind;

constexpr uint64_t RoundUp(uint64_t value) {
  return (value + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

class Builder {
 public:
  Builder(const SequenceInvocation& sequence, uint64_t limit)
      : sequence_(sequence),
        limit_(limit),
        input_bytes_(sequence.input_bytes.size(), 1),
        result_bytes_(sequence.steps.size()),
        last_use_(sequence.steps.size()),
        is_read_(sequence.steps.size()) {}

  absl::StatusOr<SequenceLayout> Build() {
    for (uint32_t s = 0; s < sequence_.steps.size(); ++s) {
      if (absl::Status status = AddStep(s); !status.ok()) return status;
    }
    for (const uint32_t output : sequence_.outputs) last_use_[output] = UINT32_MAX;
    for (uint32_t s = 0; s < sequence_.steps.size(); ++s) {
      if (is_read_[s] && layout_.steps[s].is_dense) {
        return absl::UnimplementedError("A step reads a result whose strides interleave.");
      }
    }
    PlaceInputs();
    for (uint32_t s = 0; s < sequence_.steps.size(); ++s) PlaceStep(s);
    PlaceOutputs();
    const uint64_t largest = std::max(layout_.input_buffer_bytes, layout_.readback_bytes);
    if (largest > limit_) return TooLarge(largest);
    for (const uint64_t bytes : layout_.result_buffers) {
      if (bytes > limit_) return TooLarge(bytes);
    }
    return std::move(layout_);
  }

 private:
  absl::Status TooLarge(uint64_t bytes) const {
    return absl::UnimplementedError(
        absl::StrCat("A buffer of ", bytes, " bytes exceeds the device's limit (", limit_, ")."));
  }

  // Takes over what the step would be alone, and notes what it touches of each tensor.
  absl::Status AddStep(uint32_t s) {
    const SequenceStep& step = sequence_.steps[s];
    const DeviceCall call = {step.call.get(), {}, nullptr};
    absl::StatusOr<BatchLayout> alone = LayOut({&call, 1}, limit_);
    if (!alone.ok()) return alone.status();
    StepLayout& added = layout_.steps.emplace_back();
    added.kernel = alone->kernel;
    added.dispatches = alone->dispatches;
    added.is_dense = alone->places[0].is_dense;
    result_bytes_[s] = std::max(result_bytes_[s], alone->output_buffer_bytes);
    layout_.work_bytes += alone->input_buffer_bytes + alone->output_buffer_bytes;
    const int input_count = TraitsOf(step.call->op).input_count();
    const Offsets& bound = added.dispatches[0].bound;
    for (int i = 0; i < input_count; ++i) {
      // Areas follow each other up to the plan.
      const uint64_t end = i + 1 < input_count ? bound.inputs[i + 1] : bound.plan;
      NoteUse(s, step.sources[i], end - bound.inputs[i]);
    }
    return absl::OkStatus();
  }

  void NoteUse(uint32_t s, const TensorSource& source, uint64_t bytes) {
    if (source.kind == Kind::kInput) {
      input_bytes_[source.index] = std::max(input_bytes_[source.index], bytes);
    } else if (source.kind == Kind::kStep) {
      result_bytes_[source.index] = std::max(result_bytes_[source.index], bytes);
      last_use_[source.index] = s;
      is_read_[source.index] = true;
    }
  }

  void PlaceInputs() {
    for (size_t i = 0; i < input_bytes_.size(); ++i) {
      layout_.inputs.push_back(layout_.input_buffer_bytes);
      // Some views need less than the whole.
      layout_.input_buffer_bytes += RoundUp(std::max(input_bytes_[i], sequence_.input_bytes[i]));
    }
    for (StepLayout& step : layout_.steps) {
      if (!step.is_strided()) continue;
      step.plan = layout_.input_buffer_bytes;
      layout_.input_buffer_bytes += RoundUp(kPlanBytes);
    }
  }

  void PlaceStep(uint32_t s) {
    StepLayout& step = layout_.steps[s];
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const TensorSource& source = sequence_.steps[s].sources[i];
      if (source.kind == Kind::kInput) step.inputs[i].offset = layout_.inputs[source.index];
      if (source.kind == Kind::kStep) step.inputs[i].buffer = layout_.steps[source.index].output;
    }
    step.output = TakeBuffer(s);
  }

  // A buffer whose last result nobody reads any more, of the right class; or a new one.
  uint32_t TakeBuffer(uint32_t s) {
    const uint64_t size = SizeClassOf(result_bytes_[s]);
    uint32_t buffer = 0;
    for (; buffer < layout_.result_buffers.size(); ++buffer) {
      if (busy_until_[buffer] < s && SizeClassOf(layout_.result_buffers[buffer]) == size) break;
    }
    if (buffer == layout_.result_buffers.size()) {
      layout_.result_buffers.push_back(0);
      busy_until_.push_back(0);
    }
    layout_.result_buffers[buffer] = std::max(layout_.result_buffers[buffer], result_bytes_[s]);
    busy_until_[buffer] = last_use_[s];
    return buffer;
  }

  void PlaceOutputs() {
    for (const uint32_t step : sequence_.outputs) {
      const Invocation& call = sequence_.call(step);
      SequenceOutputPlace& output = layout_.outputs.emplace_back();
      output.step = step;
      output.place.at.output = layout_.readback_bytes;
      output.place.is_dense = layout_.steps[step].is_dense;
      output.place.result_bytes = output.place.is_dense
                                      ? call.plan.element_count * SizeOf(call.output.data_type)
                                      : call.output_bytes;
      layout_.readback_bytes += RoundUp(output.place.result_bytes);
    }
  }

  const SequenceInvocation& sequence_;
  const uint64_t limit_;
  // The most bytes that any kernel touches of each input and of each result.
  std::vector<uint64_t> input_bytes_;
  std::vector<uint64_t> result_bytes_;
  // Per step: the last step that reads its result, and whether there is one.
  std::vector<uint32_t> last_use_;
  std::vector<bool> is_read_;
  // Per buffer of results: the last step that reads what the buffer holds.
  std::vector<uint32_t> busy_until_;
  SequenceLayout layout_;
};

}  // namespace

absl::StatusOr<SequenceLayout> LayOut(const SequenceInvocation& sequence,
                                      uint64_t max_buffer_bytes) {
  return Builder(sequence, std::min(max_buffer_bytes, kMaxKernelBytes)).Build();
}

void WriteInputs(const SequenceLayout& layout, const SequenceCall& call, std::byte* to,
                 HostCopies& copies) {
  const SequenceInvocation& sequence = *call.sequence;
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    if (call.inputs[i].is_absent()) continue;
    AddInput(call.inputs[i], sequence.input_bytes[i], to + layout.inputs[i], copies);
  }
  for (uint32_t s = 0; s < layout.steps.size(); ++s) {
    const StepLayout& step = layout.steps[s];
    if (!step.is_strided()) continue;
    CallPlace place;
    place.is_dense = step.is_dense;
    WritePlan(sequence.call(s), place, to + step.plan);
  }
}

void WriteResults(const SequenceLayout& layout, const SequenceCall& call, const std::byte* from,
                  HostCopies& copies) {
  for (size_t i = 0; i < layout.outputs.size(); ++i) {
    const SequenceOutputPlace& output = layout.outputs[i];
    if (output.stays) continue;
    WriteResult(output.place, {&call.sequence->call(output.step), {}, call.outputs[i]}, from,
                copies);
  }
}

}  // namespace opserve::d3d12
