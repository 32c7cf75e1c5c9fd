#include "kernels/feature_level.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace opserve {

std::string NameOf(FeatureLevel level) {
  const auto value = static_cast<uint16_t>(level);
  return absl::StrCat(value >> 12, "_", (value >> 8) & 0xF);
}

std::optional<FeatureLevel> FeatureLevelFromName(absl::string_view name) {
  const std::string normal =
      absl::StrReplaceAll(absl::StripPrefix(name, "DML_FEATURE_LEVEL_"), {{".", "_"}});
  for (FeatureLevel level : kAllFeatureLevels) {
    if (normal == NameOf(level)) return level;
  }
  return std::nullopt;
}

}  // namespace opserve
