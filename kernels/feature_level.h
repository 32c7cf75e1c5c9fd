// File: kernels/feature_level.h
//
// DirectML feature levels. Each level includes all earlier ones; the numbers are those of
// DML_FEATURE_LEVEL. Everything here is stateless and safe to use from any thread.

#ifndef OPSERVE_KERNELS_FEATURE_LEVEL_H_
#define OPSERVE_KERNELS_FEATURE_LEVEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace opserve {

// A DirectML feature level; compare with < and ==.
enum class FeatureLevel : uint16_t {
  k1_0 = 0x1000,
  k2_0 = 0x2000,
  k2_1 = 0x2100,
  k3_0 = 0x3000,
  k3_1 = 0x3100,
  k4_0 = 0x4000,
  k4_1 = 0x4100,
  k5_0 = 0x5000,
  k5_1 = 0x5100,
  k5_2 = 0x5200,
  k6_0 = 0x6000,
  k6_1 = 0x6100,
  k6_2 = 0x6200,
  k6_3 = 0x6300,
  k6_4 = 0x6400,
};

// All levels, ascending.
inline constexpr std::array<FeatureLevel, 15> kAllFeatureLevels = {
    FeatureLevel::k1_0, FeatureLevel::k2_0, FeatureLevel::k2_1, FeatureLevel::k3_0,
    FeatureLevel::k3_1, FeatureLevel::k4_0, FeatureLevel::k4_1, FeatureLevel::k5_0,
    FeatureLevel::k5_1, FeatureLevel::k5_2, FeatureLevel::k6_0, FeatureLevel::k6_1,
    FeatureLevel::k6_2, FeatureLevel::k6_3, FeatureLevel::k6_4,
};

// The level that requests get when they name none.
inline constexpr FeatureLevel kHighestFeatureLevel = kAllFeatureLevels.back();

// Most dimensions any tensor can have: DML_TENSOR_DIMENSION_COUNT_MAX1.
inline constexpr int kMaxDimensionCount = 8;

// Most dimensions at a level: 5 (DML_TENSOR_DIMENSION_COUNT_MAX) below 3_0, 8 from there on.
constexpr int MaxDimensionCount(FeatureLevel level) {
  return level < FeatureLevel::k3_0 ? 5 : kMaxDimensionCount;
}

// "6_4" for k6_4.
std::string NameOf(FeatureLevel level);

// The level named "6_4" (also accepted: "6.4" and "DML_FEATURE_LEVEL_6_4"), or nullopt.
std::optional<FeatureLevel> FeatureLevelFromName(absl::string_view name);

}  // namespace opserve

#endif  // OPSERVE_KERNELS_FEATURE_LEVEL_H_
