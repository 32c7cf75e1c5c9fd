#include "tests/bench/wire/payload.h"

#include <cmath>
#include <limits>
#include <random>

namespace opserve::wire_bench {

Payload::Payload(uint64_t bytes) : values_(bytes / sizeof(float)), rounded_(values_.size()) {
  constexpr float kSpecial[] = {0.5F,
                                -0.5F,
                                1.5F,
                                -0.0F,
                                std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
  std::mt19937 random(1);
  std::uniform_real_distribution<float> usual(-2000, 2000);
  size_t next_special = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] = i % 61 == 7 ? kSpecial[next_special++ % std::size(kSpecial)] : usual(random);
    rounded_[i] = std::nearbyint(values_[i]);
  }
}

}  // namespace opserve::wire_bench
