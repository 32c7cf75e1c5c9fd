#include "tests/bench/wire/chain.h"

#include <cmath>

namespace opserve::wire_bench {
namespace {

float Apply(const ChainStep& step, float x) {
  if (step.divisor != 0) return std::fmod(x, step.divisor);
  if (step.rounding_mode == "TOWARD_ZERO") return std::trunc(x);
  // TOWARD_INFINITY: the nearest integer, halves away from zero.
  return step.rounding_mode == "TOWARD_INFINITY" ? std::round(x) : std::nearbyint(x);
}

}  // namespace

float ThroughChain(float x) {
  for (const ChainStep& step : kChain) x = Apply(step, x);
  return x;
}

}  // namespace opserve::wire_bench
