// How elements lie in raw buffers of 32-bit words. Part of every kernel; see kernels/hlsl/render.h.
// Elements are computed as bits, in a uint, or in a uint2 (low word first) where they have 64 bits.
// Signed elements of fewer than 32 bits are extended.

uint Uint8(uint word, uint shift) { return word >> shift & 0xff; }

uint Uint16(uint word, uint shift) { return word >> shift & 0xffff; }

uint Int8(uint word, uint shift) { return uint(int(word << (24 - shift)) >> 24); }

uint Int16(uint word, uint shift) { return uint(int(word << (16 - shift)) >> 16); }

uint Pack8(uint a, uint b, uint c, uint d) {
  return (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24;
}

uint Pack16(uint a, uint b) { return (a & 0xffff) | b << 16; }

// ------------------------------------------------------------------ Numbers
//
// Bodies of the HLSL column of the operator table work on bits with integer arithmetic: float
// instructions may flush denormals. Defined for each kernel: LANE_BITS, LANE_IS_SIGNED, and for
// float types MANTISSA_BITS.

#if LANE_BITS == 64
#define ELEMENT uint2
#else
#define ELEMENT uint
#endif

#ifdef MANTISSA_BITS
#define SIGN_BIT (1u << (LANE_BITS - 1))
#define EXPONENT_BIAS ((1u << (LANE_BITS - MANTISSA_BITS - 2)) - 1)
#define IMPLICIT_BIT (1u << MANTISSA_BITS)
#define INFINITY_BITS (SIGN_BIT - IMPLICIT_BIT)
#define QUIET_NAN_BITS (INFINITY_BITS | IMPLICIT_BIT >> 1)

bool IsNan(uint x) { return (x & ~SIGN_BIT) > INFINITY_BITS; }

// NaNs become quiet.
uint Quiet(uint x) { return IsNan(x) ? x | QUIET_NAN_BITS : x; }

// Numbers as integers in the same order; both zeros are one.
int Rank(uint x) {
  const int magnitude = int(x & ~SIGN_BIT);
  return (x & SIGN_BIT) != 0 ? -magnitude : magnitude;
}

// Comparisons with a NaN are false.
bool IsLess(uint x, uint y) { return !IsNan(x) && !IsNan(y) && Rank(x) < Rank(y); }

bool IsLessOrEqual(uint x, uint y) { return !IsNan(x) && !IsNan(y) && Rank(x) <= Rank(y); }

bool IsEqual(uint x, uint y) { return !IsNan(x) && !IsNan(y) && Rank(x) == Rank(y); }

#elif LANE_BITS == 64

bool IsLess(uint2 x, uint2 y) {
#if LANE_IS_SIGNED
  const bool is_high_less = int(x.y) < int(y.y);
#else
  const bool is_high_less = x.y < y.y;
#endif
  return is_high_less || (x.y == y.y && x.x < y.x);
}

bool IsLessOrEqual(uint2 x, uint2 y) { return !IsLess(y, x); }

bool IsEqual(uint2 x, uint2 y) { return x.x == y.x && x.y == y.y; }

uint2 Quiet(uint2 x) { return x; }

uint2 Negated(uint2 x) { return uint2(0 - x.x, ~x.y + (x.x == 0 ? 1 : 0)); }

#else

#if LANE_IS_SIGNED
bool IsLess(uint x, uint y) { return int(x) < int(y); }
#else
bool IsLess(uint x, uint y) { return x < y; }
#endif

bool IsLessOrEqual(uint x, uint y) { return !IsLess(y, x); }

bool IsEqual(uint x, uint y) { return x == y; }

uint Quiet(uint x) { return x; }

// Of 8 and 16 bits saturated, of 32 wrapped.
uint Negated(uint x) {
  const uint least = 0 - (1u << (LANE_BITS - 1));
  return LANE_BITS < 32 && x == least ? ~least : 0 - x;
}

#endif
