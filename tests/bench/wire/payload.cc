#include "tests/bench/wire/payload.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/bench/wire/chain.h"

namespace opserve::wire_bench {
namespace {

constexpr float kFinite[] = {0.5F, -0.5F, 1.5F, -0.0F};
constexpr float kSpecial[] = {0.5F,
                              -0.5F,
                              1.5F,
                              -0.0F,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};

}  // namespace

Payload::Payload(uint64_t bytes, Work work)
    : values_(bytes / sizeof(float)), expected_(values_.size()) {
  const bool is_chain = work == Work::kChain;
  const std::span<const float> specials =
      is_chain ? std::span<const float>(kFinite) : std::span<const float>(kSpecial);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> usual(-2000, 2000);
  size_t next_special = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] = i % 61 == 7 ? specials[next_special++ % specials.size()] : usual(random);
    expected_[i] = is_chain ? ThroughChain(values_[i]) : std::nearbyint(values_[i]);
  }
}

void Payload::Spoil() {
  expected_.back() = std::bit_cast<float>(std::bit_cast<uint32_t>(expected_.back()) ^ 1);
}

}  // namespace opserve::wire_bench
