
// ------------------------------------------------------------------ Logic, comparisons and tests

bool IsTrue(uint x) { return x != 0; }

#ifdef MANTISSA_BITS
// By InfinityMode: 0 either, 1 positive, 2 negative.
bool IsInfinity(uint mode, uint x) {
  if (mode == 1) return x == INFINITY_BITS;
  if (mode == 2) return x == (SIGN_BIT | INFINITY_BITS);
  return (x & ~SIGN_BIT) == INFINITY_BITS;
}

uint Sign(uint x) {
  const uint one = EXPONENT_BIAS << MANTISSA_BITS;
  if (IsNan(x) || (x & ~SIGN_BIT) == 0) return 0;
  return (x & SIGN_BIT) | one;
}
#elif LANE_BITS == 64
uint2 Sign(uint2 x) {
  const uint2 least = 0xffffffff;
  if ((x.x | x.y) == 0) return 0;
  return IsLess(x, 0) ? least : uint2(1, 0);
}
#else
uint Sign(uint x) { return x == 0 ? 0 : IsLess(x, 0) ? 0xffffffff : 1; }
#endif
