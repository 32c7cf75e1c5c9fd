// File: server/pool/verify/result_check.h
//
// Whether a result is the right one, bit for bit.

#ifndef OPSERVE_SERVER_POOL_VERIFY_RESULT_CHECK_H_
#define OPSERVE_SERVER_POOL_VERIFY_RESULT_CHECK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/invocation.h"
#include "kernels/sequence.h"

namespace opserve {

// An element that is not what it should be.
struct Difference {
  // Its position in the output's buffer.
  uint64_t element = 0;
  // Its bits, in the low ones of each number.
  uint64_t expected = 0;
  uint64_t actual = 0;

  // "element 5 is 0x3f800000 instead of 0x40000000"
  std::string ToString() const;
};

// The first element of `actual` that differs from `expected`, both results of `call` with
// output_bytes bytes; nullopt if there is none. Where a float is computed, any quiet NaN is as good
// as another; operators that move elements must keep every bit. Stateless.
std::optional<Difference> FirstDifference(const Invocation& call, const std::byte* expected,
                                          const std::byte* actual);

// The same for the result of step `step` of a sequence. Where a float was computed by any step that
// it comes from, any quiet NaN is as good as another.
std::optional<Difference> FirstDifference(const SequenceInvocation& sequence, uint32_t step,
                                          const std::byte* expected, const std::byte* actual);

// Picks an even share of all results: of every n in a row, rate * n up to one. Thread-safe.
class Sampler {
 public:
  // `rate`: 0 (none) to 1 (all).
  explicit Sampler(double rate) : rate_(rate) {}

  // Whether the next result is to be checked.
  bool Next();

 private:
  const double rate_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace opserve

#endif  // OPSERVE_SERVER_POOL_VERIFY_RESULT_CHECK_H_
