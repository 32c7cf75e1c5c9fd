
// ------------------------------------------------------------------ Selection

// The first where neither is less, the other where one is NaN.
#ifdef MANTISSA_BITS
uint LesserOf(uint x, uint y) { return Quiet(IsNan(x) || IsLess(y, x) ? y : x); }

uint GreaterOf(uint x, uint y) { return Quiet(IsNan(x) || IsLess(x, y) ? y : x); }
#else
ELEMENT LesserOf(ELEMENT x, ELEMENT y) { return IsLess(y, x) ? y : x; }

ELEMENT GreaterOf(ELEMENT x, ELEMENT y) { return IsLess(x, y) ? y : x; }
#endif

// Limits are the bits of FLOATs. Integers are compared with the limit as one of them, FLOAT16 with
// the limit as it is.
#if defined(MANTISSA_BITS) && MANTISSA_BITS == 23

bool ExceedsLimit(uint x, uint limit) { return IsLess(limit, x); }

bool IsBelowLimit(uint x, uint limit) { return IsLess(x, limit); }

bool IsWithinLimit(uint x, uint limit) { return IsLessOrEqual(x, limit); }

uint AtLeast(uint limit, uint x) { return GreaterOf(limit, x); }

uint Clipped(uint x, uint least, uint most) { return GreaterOf(least, LesserOf(x, most)); }

#elif defined(MANTISSA_BITS)

// FLOAT32 as above.
bool IsNanOfFloat(uint x) { return (x & 0x7fffffff) > 0x7f800000; }

int RankOfFloat(uint x) {
  const int magnitude = int(x & 0x7fffffff);
  return x >> 31 != 0 ? -magnitude : magnitude;
}

bool IsLessFloat(uint x, uint y) {
  return !IsNanOfFloat(x) && !IsNanOfFloat(y) && RankOfFloat(x) < RankOfFloat(y);
}

uint LesserFloat(uint x, uint y) { return IsNanOfFloat(x) || IsLessFloat(y, x) ? y : x; }

uint GreaterFloat(uint x, uint y) { return IsNanOfFloat(x) || IsLessFloat(x, y) ? y : x; }

// The FLOAT32 that a FLOAT16 is.
uint Widened(uint x) {
  const uint sign = (x & 0x8000) << 16;
  const uint magnitude = x & 0x7fff;
  if (magnitude >= 0x7c00) return sign | 0x7f800000 | (magnitude & 0x3ff) << 13;
  if (magnitude >= 0x400) return sign | ((magnitude << 13) + (112u << 23));
  if (magnitude == 0) return sign;
  // A denormal counts units of 2^-24; as a number of ones it is exact and normal.
  return sign | (asuint(float(magnitude)) - (24u << 23));
}

// The nearest FLOAT16, to even where two are equally near.
uint Narrowed(uint x) {
  const uint sign = x >> 16 & 0x8000;
  const uint magnitude = x & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const uint rebased = magnitude - (112u << 23);
    return sign | (rebased + 0xfff + (rebased >> 13 & 1)) >> 13;
  }
  // Denormals count units of 2^-24.
  const uint exponent = magnitude >> 23;
  if (exponent < 102) return sign;
  const uint mantissa = (magnitude & 0x7fffff) | 0x800000;
  const uint shift = 126 - exponent;
  return sign | (mantissa + (1u << (shift - 1)) - 1 + (mantissa >> shift & 1)) >> shift;
}

bool ExceedsLimit(uint x, uint limit) { return IsLessFloat(limit, Widened(x)); }

bool IsBelowLimit(uint x, uint limit) { return IsLessFloat(Widened(x), limit); }

bool IsWithinLimit(uint x, uint limit) {
  return !IsNan(x) && !IsNanOfFloat(limit) && !IsLessFloat(limit, Widened(x));
}

uint AtLeast(uint limit, uint x) { return Narrowed(GreaterFloat(limit, Widened(x))); }

uint Clipped(uint x, uint least, uint most) {
  return Narrowed(GreaterFloat(least, LesserFloat(Widened(x), most)));
}

#else

// A FLOAT truncated, saturated, and 0 for NaN.
#if LANE_BITS == 64
uint2 Limit(uint x) {
  const bool is_negative = x >> 31 != 0;
  const uint magnitude = x & 0x7fffffff;
  const uint exponent = magnitude >> 23;
  if (exponent < 127 || magnitude > 0x7f800000) return 0;
  const uint shift = exponent - 127;
  const uint mantissa = (magnitude & 0x7fffff) | 0x800000;
#if LANE_IS_SIGNED
  if (shift >= 63) return is_negative ? uint2(0, 0x80000000) : uint2(0xffffffff, 0x7fffffff);
#else
  if (is_negative) return 0;
  if (shift >= 64) return 0xffffffff;
#endif
  uint2 value = 0;
  if (shift <= 23) {
    value.x = mantissa >> (23 - shift);
  } else if (shift - 23 >= 32) {
    value.y = mantissa << (shift - 55);
  } else {
    value.x = mantissa << (shift - 23);
    value.y = mantissa >> ((55 - shift) & 31);
  }
  return is_negative ? Negated(value) : value;
}
#else
uint Limit(uint x) {
  const bool is_negative = x >> 31 != 0;
  const uint magnitude = x & 0x7fffffff;
  const uint exponent = magnitude >> 23;
  if (exponent < 127 || magnitude > 0x7f800000) return 0;
  const uint shift = exponent - 127;
  const uint mantissa = (magnitude & 0x7fffff) | 0x800000;
#if LANE_IS_SIGNED
  const uint most = 0xffffffffu >> (33 - LANE_BITS);
  if (shift >= LANE_BITS - 1) return is_negative ? ~most : most;
#else
  if (is_negative) return 0;
  if (shift >= LANE_BITS) return 0xffffffffu >> (32 - LANE_BITS);
#endif
  const uint value = shift <= 23 ? mantissa >> (23 - shift) : mantissa << (shift - 23);
  return is_negative ? 0 - value : value;
}
#endif

bool ExceedsLimit(ELEMENT x, uint limit) { return IsLess(Limit(limit), x); }

bool IsBelowLimit(ELEMENT x, uint limit) { return IsLess(x, Limit(limit)); }

ELEMENT AtLeast(uint limit, ELEMENT x) { return GreaterOf(Limit(limit), x); }

ELEMENT Clipped(ELEMENT x, uint least, uint most) {
  return GreaterOf(Limit(least), LesserOf(x, Limit(most)));
}

#endif
