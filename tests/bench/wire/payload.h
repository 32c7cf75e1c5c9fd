// File: tests/bench/wire/payload.h
//
// The bytes that the benchmark sends, and those that must come back.

#ifndef OPSERVE_TESTS_BENCH_WIRE_PAYLOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_PAYLOAD_H_

#include <cstdint>
#include <span>
#include <vector>

namespace opserve::wire_bench {

// What is to be done with every value.
enum class Work {
  kRound,  // ELEMENT_WISE_ROUND with HALVES_TO_NEAREST_EVEN
  kChain   // the operators of chain.h
};

// Random FLOAT32 values and what becomes of them. Among the values are halves and negative zero,
// and with kRound infinities and NaN: a chain may answer those with any NaN. Immutable but for
// Spoil, so that any thread may read it and messages may refer to it instead of copying it.
class Payload {
 public:
  // `bytes` must be a positive multiple of 4.
  explicit Payload(uint64_t bytes, Work work = Work::kRound);

  uint64_t size() const { return values_.size() * sizeof(float); }
  std::span<const uint8_t> bytes() const { return BytesOf(values_); }
  // What must come back.
  std::span<const uint8_t> expected() const { return BytesOf(expected_); }

  // Makes one bit of what must come back wrong: whoever checks answers must notice.
  void Spoil();

 private:
  static std::span<const uint8_t> BytesOf(const std::vector<float>& values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
  }

  std::vector<float> values_;
  std::vector<float> expected_;
};

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_PAYLOAD_H_
