
// ------------------------------------------------------------------ Moves, signs and bits

#ifdef MANTISSA_BITS
uint Magnitude(uint x) { return x & ~SIGN_BIT; }

uint WithOtherSign(uint x) { return x ^ SIGN_BIT; }
#else
ELEMENT Magnitude(ELEMENT x) { return IsLess(x, 0) ? Negated(x) : x; }

ELEMENT WithOtherSign(ELEMENT x) { return Negated(x); }
#endif

uint OnesOfWord(uint x) {
  x = x - (x >> 1 & 0x55555555);
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f;
  return x * 0x01010101 >> 24;
}

// Elements in words of 32 bits, of which the low ones are the result.
#if LANE_BITS == 64
uint OnesOf(uint2 x) { return OnesOfWord(x.x) + OnesOfWord(x.y); }

uint2 ShiftedLeft(uint2 x, uint2 y) {
  const uint count = y.x & 31;
  const uint carry = count == 0 ? 0 : x.x >> ((32 - count) & 31);
  return (y.x & 32) != 0 ? uint2(0, x.x << count) : uint2(x.x << count, x.y << count | carry);
}

uint2 ShiftedRight(uint2 x, uint2 y) {
  const uint count = y.x & 31;
  const uint carry = count == 0 ? 0 : x.y << ((32 - count) & 31);
  return (y.x & 32) != 0 ? uint2(x.y >> count, 0) : uint2(x.x >> count | carry, x.y >> count);
}
#else
uint OnesOf(uint x) { return OnesOfWord(x); }

uint ShiftedLeft(uint x, uint y) { return x << (y & 31); }

uint ShiftedRight(uint x, uint y) { return x >> (y & 31); }
#endif
