#include "server/d3d12/batch_parts.h"

#include <algorithm>

#include "kernels/flat_part.h"

namespace opserve::d3d12 {
namespace {

// Stretches begin at multiples of so many elements, where copies are not slower than elsewhere.
constexpr uint64_t kStretchUnit = 1024;

uint64_t BytesOf(const Invocation& call) {
  uint64_t inputs = 0;
  for (const uint64_t bytes : call.input_bytes) inputs += bytes;
  return std::max(inputs, call.output_bytes);
}

bool KnowsNoContents(const DeviceCall& call) {
  return call.content.id == kNoContent && call.content.stays == nullptr &&
         std::all_of(call.inputs.begin(), call.inputs.end(), KnowsNoContent);
}

}  // namespace

uint64_t StretchLength(uint64_t count, uint64_t bytes) {
  const uint64_t parts = std::max<uint64_t>(bytes / kPartBytes, 1);
  return (count / parts + kStretchUnit) / kStretchUnit * kStretchUnit;
}

BatchParts::BatchParts(std::span<const DeviceCall> calls)
    : knows_no_contents_(std::all_of(calls.begin(), calls.end(), KnowsNoContents)) {
  if (!knows_no_contents_) {
    parts_.emplace_back(calls.begin(), calls.end());
    return;
  }
  uint64_t last_bytes = 2 * kPartBytes;  // there is no part yet
  for (const DeviceCall& call : calls) {
    const uint64_t bytes = BytesOf(*call.invocation);
    if (bytes >= 2 * kPartBytes && IsFlat(*call.invocation)) {
      Divide(call, bytes);
      last_bytes = bytes;
    } else if (last_bytes >= kPartBytes || last_bytes + bytes >= 2 * kPartBytes) {
      parts_.push_back({call});
      last_bytes = bytes;
    } else {
      parts_.back().push_back(call);
      last_bytes += bytes;
    }
  }
}

void BatchParts::Divide(const DeviceCall& call, uint64_t bytes) {
  const Invocation& whole = *call.invocation;
  const uint64_t count = whole.plan.element_count;
  const uint64_t each = StretchLength(count, bytes);
  const uint64_t output_size = SizeOf(whole.output.data_type);
  for (uint64_t begin = 0; begin < count; begin += each) {
    const Invocation& part =
        invocations_.emplace_back(PartOf(whole, std::min(each, count - begin)));
    DeviceCall stretch = call;
    stretch.invocation = &part;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const uint64_t size = SizeOf(whole.inputs[i].data_type);
      stretch.inputs[i] = stretches_.Of(call.inputs[i], begin * size, part.input_bytes[i]);
    }
    stretch.output = call.output + begin * output_size;
    parts_.push_back({stretch});
  }
}

}  // namespace opserve::d3d12
