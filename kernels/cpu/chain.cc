#include "kernels/cpu/chain.h"

#include <algorithm>

#include "kernels/cpu/strided_copy.h"

namespace opserve::cpu {
namespace {

// All slots together: a part of the second-level cache, and of a thread's stack.
constexpr size_t kScratchBytes = size_t{128} << 10;

// A block of one operand. Longer ones save little, and push each other out of the first-level
// cache.
constexpr size_t kBlockBytes = size_t{8} << 10;

// Blocks are so many elements or multiples of it, so that all slots are aligned.
constexpr uint64_t kElementsPerUnit = 64;

constexpr size_t kWidestElement = 8;

// What a processor fetches at a time.
constexpr size_t kLineBytes = 64;

static_assert(kBlockBytes >= kElementsPerUnit * kWidestElement);
// Every result and every input in a slot.
static_assert(kScratchBytes >=
              kMaxGroupSteps * kMaxGroupTensors * kElementsPerUnit * kWidestElement);

bool IsReadInGroup(const SequenceInvocation& sequence, const StepGroup& group, uint32_t result) {
  const TensorSource source = {TensorSource::Kind::kStep, result};
  for (uint32_t s = result + 1; s < group.end; ++s) {
    const auto& sources = sequence.steps[s].sources;
    if (std::find(sources.begin(), sources.end(), source) != sources.end()) return true;
  }
  return false;
}

}  // namespace

std::byte* SequenceMemory::ResultOf(const SequenceInvocation& sequence, uint32_t step) const {
  const ResultPlace& place = sequence.plan.results[step];
  switch (place.kind) {
    case ResultPlace::Kind::kOutput:
      return outputs[place.at];
    case ResultPlace::Kind::kWorkspace:
      return workspace + place.at;
    case ResultPlace::Kind::kSlot:
      break;
  }
  return nullptr;
}

const std::byte* SequenceMemory::InputOf(const SequenceInvocation& sequence, uint32_t step,
                                         int i) const {
  const TensorSource& source = sequence.steps[step].sources[i];
  switch (source.kind) {
    case TensorSource::Kind::kInput:
      return inputs[source.index];
    case TensorSource::Kind::kStep:
      return ResultOf(sequence, source.index);
    case TensorSource::Kind::kAbsent:
      break;
  }
  return nullptr;
}

Chain::Chain(const SequenceInvocation& sequence, const StepGroup& group,
             const SequenceMemory& memory, StoreMode store_mode, ResultTables& tables)
    : slot_count_(group.slot_count) {
  steps_.reserve(group.size());
  for (uint32_t s = group.begin; s < group.end; ++s) {
    const Invocation& call = sequence.call(s);
    Step& step = steps_.emplace_back();
    step.kernel = BoundKernel(call, group.element_count, tables);
    step.input_count = call.plan.tensor_count - 1;
    for (int i = 0; i < step.input_count; ++i) {
      step.inputs[i] = InputOf(sequence, s, i, memory);
      const TensorSource& source = sequence.steps[s].sources[i];
      const bool is_computed =
          source.kind == TensorSource::Kind::kStep && source.index >= group.begin;
      if (!is_computed) AddSource(step.inputs[i]);
    }
    step.output = OutputOf(sequence, s, memory);
    // Past the caches only what is not read again at once.
    if (!IsReadInGroup(sequence, group, s)) step.store_mode = store_mode;
  }
  ChooseBlock();
}

Chain::Operand Chain::InputOf(const SequenceInvocation& sequence, uint32_t step, int i,
                              const SequenceMemory& memory) {
  const Invocation& call = sequence.call(step);
  const TensorSource& source = sequence.steps[step].sources[i];
  Operand operand;
  if (source.kind == TensorSource::Kind::kAbsent) return operand;
  operand.element_size = SizeOf(call.inputs[i].data_type);
  const std::byte* const bytes = memory.InputOf(sequence, step, i);
  if (bytes == nullptr) {
    operand.slot = static_cast<uint32_t>(sequence.plan.results[source.index].at);
  } else if (call.plan.strides[i][0] == 0) {
    operand.slot = slot_count_++;
    constants_.push_back({bytes, operand.slot, operand.element_size});
  } else {
    // Steps only read it.
    operand.memory = const_cast<std::byte*>(bytes);
  }
  return operand;
}

Chain::Operand Chain::OutputOf(const SequenceInvocation& sequence, uint32_t step,
                               const SequenceMemory& memory) const {
  Operand operand;
  operand.element_size = SizeOf(sequence.call(step).output.data_type);
  operand.memory = memory.ResultOf(sequence, step);
  if (operand.memory == nullptr) {
    operand.slot = static_cast<uint32_t>(sequence.plan.results[step].at);
  }
  return operand;
}

void Chain::AddSource(const Operand& input) {
  if (input.memory == nullptr) return;
  const auto is_same = [&](const Source& source) { return source.memory == input.memory; };
  if (std::any_of(sources_.begin(), sources_.end(), is_same)) return;
  sources_.push_back({input.memory, input.element_size});
}

void Chain::ChooseBlock() {
  size_t widest = 1;
  for (const Step& step : steps_) {
    for (const Operand& input : step.inputs) widest = std::max(widest, input.element_size);
    widest = std::max(widest, step.output.element_size);
  }
  const size_t share = kScratchBytes / std::max<size_t>(slot_count_, 1);
  const uint64_t elements = std::min(kBlockBytes, share) / widest;
  block_elements_ = std::max(elements / kElementsPerUnit, uint64_t{1}) * kElementsPerUnit;
  slot_bytes_ = block_elements_ * widest;
  for (Source& source : sources_) {
    const uint64_t lines = (block_elements_ * source.element_size + kLineBytes - 1) / kLineBytes;
    source.share_bytes = (lines + steps_.size() - 1) / steps_.size() * kLineBytes;
  }
}

void Chain::FillConstants(std::byte* scratch) const {
  for (const Constant& constant : constants_) {
    const CopyNest nest = {
        .loops = {CopyLoop{.count = block_elements_, .to_stride = constant.element_size}},
        .loop_count = 1};
    CopyStrided(nest, constant.element_size, constant.value, scratch + constant.slot * slot_bytes_);
  }
}

void Chain::FetchShare(size_t index, uint64_t begin, uint64_t end) const {
  for (const Source& source : sources_) {
    const std::byte* const block = source.memory + begin * source.element_size;
    const size_t share_end =
        std::min((end - begin) * source.element_size, (index + 1) * source.share_bytes);
    for (size_t i = index * source.share_bytes; i < share_end; i += kLineBytes) {
      __builtin_prefetch(block + i, /*rw=*/0, /*locality=*/2);
    }
  }
}

void Chain::Run(uint64_t begin, uint64_t end, const std::atomic<bool>& stop) const {
  alignas(64) std::byte scratch[kScratchBytes];
  FillConstants(scratch);
  const auto address = [&](const Operand& operand, uint64_t at) -> std::byte* {
    if (operand.memory != nullptr) return operand.memory + at * operand.element_size;
    return operand.slot == kNoSlot ? nullptr : scratch + operand.slot * slot_bytes_;
  };
  for (uint64_t at = begin; at < end && !stop.load(std::memory_order_relaxed);
       at += block_elements_) {
    const uint64_t count = std::min(block_elements_, end - at);
    const uint64_t next_count = std::min(block_elements_, end - at - count);
    for (size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      // The next block is on its way while this one is computed: a processor by itself looks ahead
      // only within a page.
      FetchShare(s, at + count, at + count + next_count);
      std::array<const std::byte*, kMaxInputs> inputs = {};
      for (int i = 0; i < step.input_count; ++i) inputs[i] = address(step.inputs[i], at);
      step.kernel.Run(inputs.data(), address(step.output, at), count, step.store_mode);
    }
  }
}

}  // namespace opserve::cpu
