#include "server/d3d12/sequence_parts.h"

#include <algorithm>
#include <numeric>

#include "kernels/data_type.h"
#include "kernels/flat_part.h"
#include "server/d3d12/batch_parts.h"

namespace opserve::d3d12 {
namespace {

bool KnowsNoContents(const SequenceCall& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), KnowsNoContent) &&
         std::all_of(call.contents.begin(), call.contents.end(), [](const ResultContent& content) {
           return content.id == kNoContent && content.stays == nullptr;
         });
}

// Bytes that move in the larger direction.
uint64_t BytesOf(const SequenceInvocation& sequence) {
  const uint64_t inputs =
      std::accumulate(sequence.input_bytes.begin(), sequence.input_bytes.end(), uint64_t{0});
  uint64_t results = 0;
  for (size_t i = 0; i < sequence.outputs.size(); ++i) results += sequence.output_bytes(i);
  return std::max(inputs, results);
}

uint64_t CountOf(const SequenceInvocation& sequence) {
  return sequence.call(sequence.outputs[0]).plan.element_count;
}

// Bytes of the inputs of the whole that are repeated.
uint64_t RepeatedBytes(const SequenceInvocation& sequence,
                       const std::vector<RepeatedInput>& repeated) {
  uint64_t bytes = 0;
  for (const RepeatedInput& input : repeated) bytes += sequence.input_bytes[input.source];
  return bytes;
}

// Elements of a part; all of them where there is to be one part.
uint64_t ElementsPerPart(const SequenceInvocation& sequence,
                         const std::vector<RepeatedInput>& repeated) {
  const uint64_t count = CountOf(sequence);
  const uint64_t most = StretchLength(count, BytesOf(sequence));
  if (most >= count || RepeatedBytes(sequence, repeated) > kMostRepeatedBytes) return count;
  const uint64_t elements = EvenStretch(sequence, most);
  // Loops that do not go with each other have parts that are not worth a submission.
  return elements < most / 2 ? count : elements;
}

}  // namespace

SequenceParts::SequenceParts(const DeviceCall& of) {
  const SequenceInvocation& sequence = *of.sequence->sequence;
  if (BytesOf(sequence) >= 2 * kPartBytes && KnowsNoContents(*of.sequence) &&
      WhyNotInOrder(sequence).empty()) {
    repeated_ = RepeatedInputsOf(sequence);
    Divide(of, ElementsPerPart(sequence, repeated_));
  }
  if (parts_.empty()) parts_.push_back(of);
}

void SequenceParts::Divide(const DeviceCall& of, uint64_t elements) {
  const SequenceInvocation& whole = *of.sequence->sequence;
  const uint64_t count = CountOf(whole);
  if (elements == count) return;
  for (uint64_t begin = 0; begin < count; begin += elements) {
    const uint64_t length = std::min(elements, count - begin);
    // All have the same length but the last one.
    if (begin == 0 || length != elements) invocations_.push_back(PartOf(whole, length));
    DeviceCall& part = parts_.emplace_back(of);
    part.sequence = &calls_.emplace_back(StretchOf(*of.sequence, invocations_.back(), begin));
  }
}

SequenceCall SequenceParts::StretchOf(const SequenceCall& whole, const SequenceInvocation& part,
                                      uint64_t begin) {
  const SequenceInvocation& sequence = *whole.sequence;
  const uint64_t count = CountOf(sequence);
  SequenceCall stretch = {.sequence = &part, .contents = whole.contents, .stop = whole.stop};
  for (size_t i = 0; i < whole.inputs.size(); ++i) {
    const uint64_t size = sequence.input_bytes[i] / count;
    // Those that are repeated have no bytes in it.
    const uint64_t bytes = part.input_bytes[i];
    stretch.inputs.push_back(
        stretches_.Of(bytes == 0 ? TensorBytes() : whole.inputs[i], begin * size, bytes));
  }
  for (const RepeatedInput& repeated : repeated_) {
    const Invocation& call = sequence.call(repeated.step);
    const uint64_t size = SizeOf(call.inputs[repeated.input].data_type);
    stretch.inputs.push_back(stretches_.Of(whole.inputs[repeated.source],
                                           PlaceOf(call, repeated.input, begin) * size,
                                           part.input_bytes[stretch.inputs.size()]));
  }
  for (size_t i = 0; i < whole.outputs.size(); ++i) {
    const uint64_t size = SizeOf(sequence.call(sequence.outputs[i]).output.data_type);
    stretch.outputs.push_back(whole.outputs[i] + begin * size);
  }
  return stretch;
}

}  // namespace opserve::d3d12
