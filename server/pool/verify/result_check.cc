#include "server/pool/verify/result_check.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/pool/verify/float_format.h"

namespace opserve {
namespace {

// Whether two elements that differ in bits are still the same result.
bool AreEqualNans(DataType type, uint64_t expected, uint64_t actual) {
  if (!IsFloat(type)) return false;
  const FloatFormat format = FormatOf(type);
  return format.is_nan(expected) && format.is_nan(actual) && (actual & format.quiet_bit()) != 0;
}

bool Moves(const Invocation& call) { return call.keeps_nan_bits(); }

// Whether nothing was computed on the way from the inputs to the result of `step`.
bool OnlyMoves(const SequenceInvocation& sequence, uint32_t step) {
  std::vector<bool> moves(step + 1);
  for (uint32_t s = 0; s <= step; ++s) {
    moves[s] = Moves(sequence.call(s));
    for (const TensorSource& source : sequence.steps[s].sources) {
      if (source.kind == TensorSource::Kind::kStep && !moves[source.index]) moves[s] = false;
    }
  }
  return moves[step];
}

std::optional<Difference> Compare(const Invocation& call, bool moves, const std::byte* expected,
                                  const std::byte* actual) {
  if (std::memcmp(expected, actual, call.output_bytes) == 0) return std::nullopt;
  const DataType type = call.output.data_type;
  const size_t size = SizeOf(type);
  for (uint64_t i = 0; i < call.output_bytes / size; ++i) {
    Difference difference{.element = i};
    std::memcpy(&difference.expected, expected + i * size, size);
    std::memcpy(&difference.actual, actual + i * size, size);
    if (difference.expected == difference.actual) continue;
    if (moves || !AreEqualNans(type, difference.expected, difference.actual)) return difference;
  }
  return std::nullopt;
}

}  // namespace

std::string Difference::ToString() const {
  return absl::StrCat("element ", element, " is 0x", absl::Hex(actual), " instead of 0x",
                      absl::Hex(expected));
}

std::optional<Difference> FirstDifference(const Invocation& call, const std::byte* expected,
                                          const std::byte* actual) {
  return Compare(call, Moves(call), expected, actual);
}

std::optional<Difference> FirstDifference(const SequenceInvocation& sequence, uint32_t step,
                                          const std::byte* expected, const std::byte* actual) {
  return Compare(sequence.call(step), OnlyMoves(sequence, step), expected, actual);
}

bool Sampler::Next() {
  const auto count = static_cast<double>(count_.fetch_add(1, std::memory_order_relaxed));
  return std::floor((count + 1) * rate_) > std::floor(count * rate_);
}

}  // namespace opserve
