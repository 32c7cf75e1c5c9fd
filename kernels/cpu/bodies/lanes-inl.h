// Vectors as kernels see them: loads and stores at any address, masks between lane widths, FLOAT16
// conversions that are exact on every target. Included once per target.

#if defined(OPSERVE_KERNELS_CPU_BODIES_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPSERVE_KERNELS_CPU_BODIES_LANES_INL_H_
#undef OPSERVE_KERNELS_CPU_BODIES_LANES_INL_H_
#else
#define OPSERVE_KERNELS_CPU_BODIES_LANES_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace opserve::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Masks are bits in a register, one per lane of any width.
#undef OPSERVE_HAVE_BIT_MASKS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define OPSERVE_HAVE_BIT_MASKS 1
#else
#define OPSERVE_HAVE_BIT_MASKS 0
#endif

// Targets with instructions for FLOAT16 conversion and for rounding to integral values.
#undef OPSERVE_HAVE_F16_CONVERSION
#undef OPSERVE_HAVE_ROUNDING
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define OPSERVE_HAVE_F16_CONVERSION 0
#define OPSERVE_HAVE_ROUNDING 0
#elif HWY_TARGET == HWY_SSE4
#define OPSERVE_HAVE_F16_CONVERSION 0
#define OPSERVE_HAVE_ROUNDING 1
#else
#define OPSERVE_HAVE_F16_CONVERSION 1
#define OPSERVE_HAVE_ROUNDING 1
#endif

// Highway has hardly any operations on FLOAT16 lanes, so vectors hold them as their bits.
template <class D>
inline constexpr bool kIsHalf = std::is_same_v<hn::TFromD<D>, hwy::float16_t>;
template <class D>
using BitsTag = hn::RebindToUnsigned<D>;
template <class D>
using ValueTag = std::conditional_t<kIsHalf<D>, BitsTag<D>, D>;
template <class D>
using Value = hn::Vec<ValueTag<D>>;
template <class D>
using Mask = hn::Mask<ValueTag<D>>;

// Whether as many lanes of TWide as D has fit in a vector.
template <class D, class TWide>
concept FitsAs = MaxLanes(D())
*sizeof(TWide) <= HWY_MAX_BYTES;

// A number, rounded to the type of the lanes.
template <class D>
HWY_INLINE hn::Vec<D> InLanes(D d, double number) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(number));
}

// A load at any address.
template <class D>
HWY_INLINE hn::Vec<D> LoadAt(D d, const std::byte* from) {
  using T = hn::TFromD<D>;
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return hn::Set(d, value);
  } else {
    return hn::LoadU(d, reinterpret_cast<const T*>(from));
  }
}

// A store at any address, or past the caches at a multiple of the vector's size.
template <bool kStream, class D>
HWY_INLINE void StoreAt(hn::Vec<D> v, D d, std::byte* to) {
  using T = hn::TFromD<D>;
  // Narrower vectors have no such stores.
  constexpr bool kCanStream = MaxLanes(D()) * sizeof(T) >= 16;
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    const T value = hn::GetLane(v);
    std::memcpy(to, &value, sizeof(T));
  } else if constexpr (kStream && kCanStream) {
    hn::Stream(v, d, reinterpret_cast<T*>(to));
  } else {
    hn::StoreU(v, d, reinterpret_cast<T*>(to));
  }
}

// The same mask over lanes of another width; both tags have unsigned lanes.
template <class DTo, class DFrom>
HWY_INLINE hn::Mask<DTo> ConvertMask([[maybe_unused]] DTo d_to, [[maybe_unused]] DFrom d_from,
                                     hn::Mask<DFrom> mask) {
  using To = hn::TFromD<DTo>;
  using From = hn::TFromD<DFrom>;
  if constexpr (sizeof(To) == sizeof(From)) {
    return hn::RebindMask(d_to, mask);
  } else {
#if OPSERVE_HAVE_BIT_MASKS
    hn::Mask<DTo> result;
    result.raw = static_cast<decltype(result.raw)>(mask.raw);
    return result;
#else
    const auto lanes = hn::VecFromMask(d_from, mask);
    if constexpr (sizeof(To) < sizeof(From)) {
      return hn::MaskFromVec(hn::TruncateTo(d_to, lanes));
    } else if constexpr (sizeof(To) == 8 && sizeof(From) < 4) {
      const hn::Rebind<uint32_t, DTo> d32;
      return ConvertMask(d_to, d32, ConvertMask(d32, d_from, mask));
    } else {
      // Sign extension repeats the ones of a set lane.
      const hn::RebindToSigned<DTo> di_to;
      const hn::RebindToSigned<DFrom> di_from;
      return hn::MaskFromVec(hn::BitCast(d_to, hn::PromoteTo(di_to, hn::BitCast(di_from, lanes))));
    }
#endif
  }
}

// Unsigned lanes of values below 128 in lanes of another width.
template <class DTo, class DFrom>
HWY_INLINE hn::Vec<DTo> ConvertCount(DTo d_to, [[maybe_unused]] DFrom d_from, hn::Vec<DFrom> v) {
  using To = hn::TFromD<DTo>;
  using From = hn::TFromD<DFrom>;
  if constexpr (sizeof(To) == sizeof(From)) {
    return v;
  } else if constexpr (sizeof(To) > sizeof(From)) {
    return hn::PromoteTo(d_to, v);
  } else if constexpr (sizeof(From) == 8) {
    // By way of floats, which every target converts to and from: of doubles the low halves would
    // do, but not on all of them.
    const hn::Rebind<int32_t, DFrom> di32;
    const hn::Rebind<double, DFrom> dd;
    const auto as_double =
        hn::Sub(hn::BitCast(dd, hn::Or(v, hn::Set(d_from, uint64_t{0x4330000000000000}))),
                hn::Set(dd, 0x1p52));
    const auto narrow = hn::DemoteTo(di32, as_double);
    if constexpr (sizeof(To) == 4) {
      return hn::BitCast(d_to, narrow);
    } else {
      return hn::DemoteTo(d_to, narrow);
    }
  } else {
    return hn::DemoteTo(d_to, hn::BitCast(hn::RebindToSigned<DFrom>(), v));
  }
}

// FLOAT16 bits to FLOAT32 lanes. Highway's emulation for targets without an instruction knows
// neither infinities nor NaNs.
template <class D, class VBits>
HWY_INLINE hn::Vec<D> PromoteHalf(D d, VBits half) {
#if OPSERVE_HAVE_F16_CONVERSION
  const hn::Rebind<hwy::float16_t, D> dh;
  return hn::PromoteTo(d, hn::BitCast(dh, half));
#else
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::PromoteTo(du, half);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(du, 0x7FFFu)));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  // The multiplication moves the exponent to its new bias, also for denormals, without rounding.
  const auto finite = hn::Mul(hn::BitCast(d, magnitude), hn::Set(d, 0x1p112f));
  const auto special = hn::Or(magnitude, hn::Set(du, 0x7F800000u));
  // Signed comparison: the magnitude's top bit is clear.
  const hn::RebindToSigned<D> di;
  const auto is_special =
      hn::RebindMask(du, hn::Gt(hn::BitCast(di, magnitude), hn::Set(di, 0x0F7FFFFF)));
  const auto value = hn::IfThenElse(is_special, special, hn::BitCast(du, finite));
  return hn::BitCast(d, hn::Or(value, sign));
#endif
}

// FLOAT32 lanes to FLOAT16 bits, to nearest even; NaNs become quiet.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, D>> DemoteHalf([[maybe_unused]] D d, hn::Vec<D> v) {
  const hn::Rebind<uint16_t, D> du16;
#if OPSERVE_HAVE_F16_CONVERSION
  const hn::Rebind<hwy::float16_t, D> dh;
  return hn::BitCast(du16, hn::DemoteTo(dh, v));
#else
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, v);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
  // Rounds by a carry out of the bits that go, odd results upwards.
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
  const auto rebiased = hn::Add(magnitude, hn::Set(di, 0xFFF - (112 << 23)));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebiased, odd));
  // Adding 0.5 leaves the rounded denormal in the low bits of the sum.
  const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f));
  const auto denormal = hn::Sub(hn::BitCast(di, sum), hn::Set(di, 0x3F000000));
  const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7F800000));
  const auto special = hn::IfThenElse(is_nan, hn::Set(di, 0x7E00), hn::Set(di, 0x7C00));
  auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), denormal, normal);
  // 65520 and above round to infinity.
  result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477FEFFF)), special, result);
  const hn::RebindToUnsigned<D> du;
  return hn::TruncateTo(du16, hn::BitCast(du, hn::Or(result, sign)));
#endif
}

}  // namespace opserve::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // OPSERVE_KERNELS_CPU_BODIES_LANES_INL_H_
