// File: tests/bench/wire/payload.h
//
// The bytes that the benchmark sends, and those that must come back.

#ifndef OPSERVE_TESTS_BENCH_WIRE_PAYLOAD_H_
#define OPSERVE_TESTS_BENCH_WIRE_PAYLOAD_H_

#include <cstdint>
#include <span>
#include <vector>

namespace opserve::wire_bench {

// Random FLOAT32 values, among them halves, infinities, NaN and negative zero. Immutable, so that
// any thread may read it and messages may refer to it instead of copying it.
class Payload {
 public:
  // `bytes` must be a positive multiple of 4.
  explicit Payload(uint64_t bytes);

  uint64_t size() const { return values_.size() * sizeof(float); }
  std::span<const uint8_t> bytes() const { return BytesOf(values_); }
  // What ELEMENT_WISE_ROUND with HALVES_TO_NEAREST_EVEN must return: std::nearbyint of each value.
  std::span<const uint8_t> rounded() const { return BytesOf(rounded_); }

 private:
  static std::span<const uint8_t> BytesOf(const std::vector<float>& values) {
    return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
  }

  std::vector<float> values_;
  std::vector<float> rounded_;
};

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_PAYLOAD_H_
