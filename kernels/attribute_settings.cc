#include "kernels/attribute_settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "kernels/scalar.h"

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

bool IsNumber(const AttributeTraits& attribute) {
  return attribute.kind == AttributeKind::kFloat || attribute.kind == AttributeKind::kScalar;
}

int NumberCount(const OpTraits& op) {
  return static_cast<int>(std::count_if(op.attributes.begin(), op.attributes.end(), IsNumber));
}

// `number` as elements of `lane` have it: truncated and saturated where those are integers.
AttributeView ScalarView(absl::string_view name, double number, DataType lane) {
  if (ScalarOf(number, lane)) return {name, number};
  const bool is_signed = ScalarOf(int64_t{-1}, lane).has_value();
  const int bits = static_cast<int>(SizeOf(lane)) * 8 - (is_signed ? 1 : 0);
  const double limit = std::ldexp(1.0, bits);
  if (number >= limit) return {name, UINT64_MAX >> (64 - bits)};
  if (std::isnan(number) || (number < 0 && !is_signed)) return {name, int64_t{0}};
  return {name, static_cast<int64_t>(std::max(number, -limit))};
}

// Number `index` of the operators that ADD1 can be fused with.
const OpTraits& FusableOperator(int index) {
  const auto is_it = [&index](const OpTraits& op) { return op.is_fusable && index-- == 0; };
  return *std::find_if(OpTable().begin(), OpTable().end(), is_it);
}

int FusableCount() {
  const auto is_fusable = [](const OpTraits& op) { return op.is_fusable; };
  return static_cast<int>(std::count_if(OpTable().begin(), OpTable().end(), is_fusable));
}

// No activation, then each with usual attributes.
std::vector<AttributeView> FusedAttributes(int setting) {
  if (setting == 0) return {};
  const OpTraits& activation = FusableOperator(setting - 1);
  std::vector<AttributeView> views = {{kFusedActivation, activation.name}};
  for (const AttributeTraits& attribute : activation.attributes) {
    const auto& [first, second] = kPairs[0];
    views.push_back({FusedNameOf(attribute.name), double{views.size() % 2 == 1 ? first : second}});
  }
  return views;
}

}  // namespace

int PlainSettingCount(const OpTraits& op) {
  if (op.has_mode()) return op.mode_count();
  if (op.axes_attribute() >= 0) return kAxesCount;
  return NumberCount(op) > 0 ? kPairCount : 1;
}

int SettingCount(const OpTraits& op, DataType lane) {
  const bool can_scale = op.takes_scale_bias && SizeOf(lane) < 8;
  return PlainSettingCount(op) + (can_scale ? kScaleBiasCount - 1 : 0) +
         (op.takes_fused_activation ? FusableCount() : 0);
}

std::vector<AttributeView> AttributesOfSetting(const OpTraits& op, DataType lane, int setting) {
  if (op.takes_fused_activation) return FusedAttributes(setting);
  const int of_attributes = PlainSettingCount(op);
  const int scale_bias = setting < of_attributes ? 0 : setting - of_attributes + 1;
  // A ScaleBias goes with usual attributes.
  const int row = scale_bias == 0 ? setting : 0;
  const auto& [first, second] = kPairs[NumberCount(op) > 0 ? row : 0];
  std::vector<AttributeView> views;
  int number = 0;
  for (const AttributeTraits& attribute : op.attributes) {
    const float next = number % 2 == 0 ? first : second;
    number += IsNumber(attribute) ? 1 : 0;
    switch (attribute.kind) {
      case AttributeKind::kFloat:
        views.push_back({attribute.name, double{next}});
        break;
      case AttributeKind::kScalar:
        views.push_back(ScalarView(attribute.name, next, lane));
        break;
      case AttributeKind::kDataType:
        views.push_back({attribute.name, NameOf(lane)});
        break;
      case AttributeKind::kAxes:
        views.push_back({attribute.name, kAxes[row]});
        break;
      case AttributeKind::kEnum:
      case AttributeKind::kInt:
      case AttributeKind::kActivation:
        views.push_back({attribute.name, int64_t{row}});
        break;
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
