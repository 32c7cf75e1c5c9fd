#include "kernels/attribute_settings.h"

#include <array>
#include <limits>
#include <span>
#include <utility>

namespace opserve {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

// The first two FLOAT attributes: a Min and a Max, an Alpha and a Beta. Usual ones first.
constexpr std::pair<float, float> kPairs[] = {
    {-1.5f, 2.25f},
    {0.1f, -0.3f},
    {0.0f, 0.0f},
    {-0.0f, 1.0f},
    {kNan, 1.0f},
    {0.25f, kNan},
    {-kInf, kInf},
    {kInf, -kInf},
    {1.0f - 0x1p-24f, -1.0f},
    {-65519.996f, 65520.0f},
    {kLeast, kMax},
    {3e9f, -1e-10f},
    {0x1.000002p0f, -kLeast},
    {1e-3f, 1e4f},
};
constexpr int kPairCount = static_cast<int>(std::size(kPairs));

// Scale and Bias. The first stands for none.
constexpr std::pair<float, float> kScaleBiases[] = {
    {0.0f, 0.0f},   {1.0f, 0.0f},
    {0.1f, -0.3f},  {-2.5f, 100.0f},
    {3e4f, 1e-3f},  {kNan, 0.0f},
    {kInf, 1.0f},   {0x1.fffffep0f, -kInf},
    {0.0f, 0.5f},   {1.0f - 0x1p-24f, -1.0f},
    {1e9f, -0.75f}, {0x1p-60f, 16777217.0f},
};
constexpr int kScaleBiasCount = static_cast<int>(std::size(kScaleBiases));

// Lists of dimensions that every tensor has.
constexpr std::array<int64_t, 1> kFirstDimension = {0};
constexpr std::span<const int64_t> kAxes[] = {kFirstDimension, {}};
constexpr int kAxesCount = static_cast<int>(std::size(kAxes));

int FloatCount(const OpTraits& op) {
  int count = 0;
  for (const AttributeTraits& attribute : op.attributes) {
    count += attribute.kind == AttributeKind::kFloat ? 1 : 0;
  }
  return count;
}

}  // namespace

int PlainSettingCount(const OpTraits& op) {
  if (op.has_mode()) return op.mode_count();
  if (op.axes_attribute() >= 0) return kAxesCount;
  return FloatCount(op) > 0 ? kPairCount : 1;
}

int SettingCount(const OpTraits& op, DataType lane) {
  const bool can_scale = op.takes_scale_bias && SizeOf(lane) < 8;
  return PlainSettingCount(op) + (can_scale ? kScaleBiasCount - 1 : 0);
}

std::vector<AttributeView> AttributesOfSetting(const OpTraits& op, int setting) {
  const int of_attributes = PlainSettingCount(op);
  const int scale_bias = setting < of_attributes ? 0 : setting - of_attributes + 1;
  // A ScaleBias goes with usual attributes.
  const int row = scale_bias == 0 ? setting : 0;
  const auto& [first, second] = kPairs[FloatCount(op) > 0 ? row : 0];
  std::vector<AttributeView> views;
  int number = 0;
  for (const AttributeTraits& attribute : op.attributes) {
    if (attribute.kind == AttributeKind::kFloat) {
      views.push_back({attribute.name, double{number++ % 2 == 0 ? first : second}});
    } else if (attribute.kind == AttributeKind::kAxes) {
      views.push_back({attribute.name, kAxes[row]});
    } else {
      views.push_back({attribute.name, int64_t{row}});
    }
  }
  if (scale_bias > 0) {
    const auto& [scale, bias] = kScaleBiases[scale_bias];
    views.push_back({kScaleAttribute, double{scale}});
    views.push_back({kBiasAttribute, double{bias}});
  }
  return views;
}

}  // namespace opserve
