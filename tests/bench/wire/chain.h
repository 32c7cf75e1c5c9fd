// File: tests/bench/wire/chain.h
//
// Eight element-wise operators, each on the result of the one before, and what they compute.

#ifndef OPSERVE_TESTS_BENCH_WIRE_CHAIN_H_
#define OPSERVE_TESTS_BENCH_WIRE_CHAIN_H_

#include <array>

#include "absl/strings/string_view.h"

namespace opserve::wire_bench {

// ELEMENT_WISE_MODULUS_TRUNCATE by one number, or ELEMENT_WISE_ROUND where that is 0.
struct ChainStep {
  float divisor = 0;
  absl::string_view rounding_mode = {};
};

// Every step changes some values of a Payload.
inline constexpr std::array<ChainStep, 8> kChain = {{{1000.75F},
                                                     {0, "HALVES_TO_NEAREST_EVEN"},
                                                     {300.5F},
                                                     {0, "TOWARD_ZERO"},
                                                     {100.25F},
                                                     {0, "TOWARD_INFINITY"},
                                                     {30.5F},
                                                     {0, "HALVES_TO_NEAREST_EVEN"}}};

// What the chain makes of a finite number, to the bit, by the C library. Stateless.
float ThroughChain(float x);

}  // namespace opserve::wire_bench

#endif  // OPSERVE_TESTS_BENCH_WIRE_CHAIN_H_
