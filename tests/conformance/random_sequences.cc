#include "tests/conformance/random_sequences.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/attribute_settings.h"
#include "tests/conformance/call_cases.h"
#include "tests/conformance/special_values.h"
#include "tests/testing/sequence_builder.h"

namespace opserve::testing {
namespace {

// A tensor that steps may use.
struct Available {
  TensorSource source;
  DataType type;
  std::vector<uint32_t> sizes;
  uint64_t extent;
};

class Generator {
 public:
  Generator(const SequenceShape& shape, std::mt19937_64& random) : shape_(shape), random_(random) {}

  std::shared_ptr<const SequenceInvocation> Make() {
    const uint32_t steps = 1 + Dice(shape_.max_steps);
    for (uint32_t s = 0; s < steps; ++s) AddStep();
    for (uint32_t s = 0; s < steps; ++s) {
      if (!is_used_[s] || Dice(100) < 10) builder_.Return(FromStep(s));
    }
    SequenceValidationResult result = builder_.Validate();
    for (const Violation& violation : result.violations) {
      ADD_FAILURE() << violation.field << ": " << violation.description;
    }
    return result.sequence;
  }

 private:
  uint32_t Dice(uint64_t sides) { return static_cast<uint32_t>(random_() % sides); }

  std::vector<uint32_t> MakeSizes() {
    const uint32_t rows = 1 + Dice(4);
    const uint32_t columns = (shape_.elements + rows - 1) / rows;
    return Dice(5) == 0 ? std::vector<uint32_t>{columns} : std::vector<uint32_t>{rows, columns};
  }

  // A cell whose lane type there is already, more often than not.
  Cell ChooseCell() {
    const std::vector<Cell>& cells = shape_.cells;
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Cell& cell = cells[Dice(cells.size())];
      for (const Available& tensor : available_) {
        if (tensor.type == cell.lane) return cell;
      }
    }
    return cells[Dice(cells.size())];
  }

  void AddStep() {
    const Cell cell = ChooseCell();
    if (sizes_.empty() || Dice(10) == 0) sizes_ = MakeSizes();
    const auto number = static_cast<uint32_t>(is_used_.size());
    const int input_count = cell.op->input_count();
    // Inputs first: they may add some to the sequence.
    std::vector<Available> inputs;
    for (int i = 0; i < input_count; ++i) {
      const DataType type = cell.op->InputType(i, cell.lane);
      inputs.push_back(cell.op->inputs[i].is_single ? MakeSingle(type) : ChooseInput(type));
    }
    builder_.Step(std::string(cell.op->name));
    for (int i = 0; i < input_count; ++i) {
      if (cell.op->inputs[i].is_single) {
        builder_.From(inputs[i].source);
      } else {
        UseInput(inputs[i]);
      }
    }
    const int settings = shape_.scale_biases ? cell.setting_count() : PlainSettingCount(*cell.op);
    builder_.Attributes(AttributesOfSetting(*cell.op, cell.lane, static_cast<int>(Dice(settings))));
    Available result = {FromStep(number), cell.output, sizes_, *ElementCount(sizes_)};
    if (Dice(100) < shape_.strided_outputs) {
      AddStrides(result);
    } else {
      builder_.Output({result.type, {}, {}});
    }
    available_.push_back(result);
    is_used_.push_back(false);
  }

  void AddStrides(Available& result) {
    const uint32_t columns = sizes_.back();
    const uint32_t step = 1 + Dice(2);
    std::vector<uint32_t> strides = {step};
    if (sizes_.size() == 2) strides = {columns * step + Dice(3), step};
    builder_.Output({result.type, sizes_, strides});
    result.extent = *ExtentInElements(sizes_, strides);
  }

  // An existing tensor of the type, or a new input.
  Available ChooseInput(DataType type) {
    std::vector<Available*> fitting;
    for (Available& tensor : available_) {
      if (tensor.type == type) fitting.push_back(&tensor);
    }
    if (!fitting.empty() && Dice(8) != 0) {
      // Late ones make long chains.
      const size_t newest = fitting.size() - 1;
      return *fitting[Dice(2) == 0 ? newest : Dice(fitting.size())];
    }
    std::vector<uint32_t> sizes = sizes_;
    if (Dice(4) == 0) sizes = {1};
    const TensorSource source = builder_.Input({type, sizes});
    return available_.emplace_back(Available{source, type, sizes, *ElementCount(sizes)});
  }

  // A new input of one element.
  Available MakeSingle(DataType type) {
    const std::vector<uint32_t> sizes(sizes_.size(), 1);
    return available_.emplace_back(Available{builder_.Input({type, sizes}), type, sizes, 1});
  }

  void UseInput(const Available& input) {
    if (input.source.kind == TensorSource::Kind::kStep) is_used_[input.source.index] = true;
    if (input.sizes == sizes_ && Dice(100) >= shape_.views) {
      builder_.From(input.source);
      return;
    }
    std::vector<std::vector<uint32_t>> strides = {std::vector<uint32_t>(sizes_.size(), 0)};
    const uint32_t columns = sizes_.back();
    if (*ElementCount(sizes_) <= input.extent) {
      strides.emplace_back();
      if (sizes_.size() == 2) strides.push_back({1, sizes_[0]});
    }
    if (sizes_.size() == 2 && columns <= input.extent) strides.push_back({0, 1});
    builder_.From(input.source, TestView{sizes_, strides[Dice(strides.size())]});
  }

  const SequenceShape& shape_;
  std::mt19937_64& random_;
  SequenceBuilder builder_;
  std::vector<Available> available_;
  std::vector<bool> is_used_;  // per step
  std::vector<uint32_t> sizes_;
};

}  // namespace

std::shared_ptr<const SequenceInvocation> MakeRandomSequence(const SequenceShape& shape,
                                                             std::mt19937_64& random) {
  return Generator(shape, random).Make();
}

std::vector<GuardedInput> MakeSequenceInputs(const SequenceInvocation& sequence,
                                             std::mt19937_64& random) {
  // The types of inputs, by the first step that uses them.
  std::vector<DataType> types(sequence.input_bytes.size(), DataType::kUint8);
  for (const SequenceStep& step : sequence.steps) {
    for (size_t i = 0; i < step.sources.size(); ++i) {
      const TensorSource& source = step.sources[i];
      if (source.kind == TensorSource::Kind::kInput) {
        types[source.index] = step.call->inputs[i].data_type;
      }
    }
  }
  std::vector<GuardedInput> inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    GuardedInput& input = inputs.emplace_back(sequence.input_bytes[i]);
    const std::vector<uint64_t>& special = SpecialValues(types[i]);
    const size_t size = SizeOf(types[i]);
    for (size_t at = 0; at + size <= input.size(); at += size) {
      const uint64_t dice = random();
      const uint64_t value = dice % 2 == 0 ? special[(dice >> 8) % special.size()] : dice >> 1;
      std::memcpy(input.data() + at, &value, size);
    }
  }
  return inputs;
}

std::vector<std::vector<std::byte>> RunStepByStep(const SequenceInvocation& sequence,
                                                  const std::vector<GuardedInput>& inputs,
                                                  const CpuExecutor& executor) {
  std::vector<GuardedInput> results;
  for (const SequenceStep& step : sequence.steps) {
    std::array<const std::byte*, kMaxInputs> pointers = {};
    for (size_t i = 0; i < pointers.size(); ++i) {
      const TensorSource& source = step.sources[i];
      if (source.kind == TensorSource::Kind::kInput) pointers[i] = inputs[source.index].data();
      if (source.kind == TensorSource::Kind::kStep) pointers[i] = results[source.index].data();
    }
    GuardedInput& result = results.emplace_back(step.call->output_bytes);
    const auto count = static_cast<size_t>(TraitsOf(step.call->op).input_count());
    executor.Run(*step.call, std::span(pointers).first(count), result.data());
  }
  std::vector<std::vector<std::byte>> outputs;
  for (const uint32_t step : sequence.outputs) {
    const GuardedInput& result = results[step];
    outputs.emplace_back(result.data(), result.data() + result.size());
  }
  return outputs;
}

}  // namespace opserve::testing
