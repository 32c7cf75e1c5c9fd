// Bodies of the HLSL column of kernels/elementwise.def that are longer than an expression. All of
// them work on bits with integer arithmetic: float instructions may flush denormals.
//
// Defined for each kernel: LANE_BITS, LANE_IS_SIGNED, and for float types MANTISSA_BITS.

#ifdef MANTISSA_BITS
#define SIGN_BIT (1u << (LANE_BITS - 1))
#define EXPONENT_BIAS ((1u << (LANE_BITS - MANTISSA_BITS - 2)) - 1)
#define IMPLICIT_BIT (1u << MANTISSA_BITS)
#define INFINITY_BITS (SIGN_BIT - IMPLICIT_BIT)
#define QUIET_NAN_BITS (INFINITY_BITS | IMPLICIT_BIT >> 1)

// By InfinityMode: 0 either, 1 positive, 2 negative.
bool IsInfinity(uint mode, uint x) {
  if (mode == 1) return x == INFINITY_BITS;
  if (mode == 2) return x == (SIGN_BIT | INFINITY_BITS);
  return (x & ~SIGN_BIT) == INFINITY_BITS;
}

// By RoundingMode: 0 halves to even, 1 toward zero, 2 halves away from zero.
uint RoundMagnitude(uint mode, uint x) {
  if (x > INFINITY_BITS) return x | QUIET_NAN_BITS;
  const uint exponent = x >> MANTISSA_BITS;
  if (exponent >= EXPONENT_BIAS + MANTISSA_BITS) return x;  // integral, or infinite
  if (exponent < EXPONENT_BIAS) {                           // below 1
    const uint one = EXPONENT_BIAS << MANTISSA_BITS;
    const uint half = one - IMPLICIT_BIT;
    if (mode == 1 || x < half || (mode == 0 && x == half)) return 0;
    return one;
  }
  const uint fraction_bits = EXPONENT_BIAS + MANTISSA_BITS - exponent;
  const uint fraction_mask = (1u << fraction_bits) - 1;
  // A carry out of the mantissa is a carry into the exponent, which is what is wanted. The lowest
  // bit of the exponent of 1 is set, like the implicit bit it stands for.
  const uint half = 1u << (fraction_bits - 1);
  const uint is_odd = x >> fraction_bits & 1;
  const uint up = mode == 0 ? half - 1 + is_odd : mode == 1 ? 0 : half;
  return (x + up) & ~fraction_mask;
}

uint Round(uint mode, uint x) {
  return RoundMagnitude(mode, x & ~SIGN_BIT) | (x & SIGN_BIT);
}

// The remainder of two magnitudes, exact: long division of the mantissas.
uint RemainderOfMagnitudes(uint x, uint y) {
  if (y == 0 || x >= INFINITY_BITS || y > INFINITY_BITS) return QUIET_NAN_BITS;
  if (x < y) return x;  // also where y is infinite
  // Denormals have the exponent of the least normal number and no implicit bit.
  uint exponent = max(y >> MANTISSA_BITS, 1);
  uint steps = max(x >> MANTISSA_BITS, 1) - exponent;
  const uint mantissa_mask = IMPLICIT_BIT - 1;
  const uint divisor = (y & mantissa_mask) | (y >= IMPLICIT_BIT ? IMPLICIT_BIT : 0);
  uint rest = ((x & mantissa_mask) | (x >= IMPLICIT_BIT ? IMPLICIT_BIT : 0)) % divisor;
  while (steps > 0 && rest != 0) {
    const uint shift = min(steps, 31 - MANTISSA_BITS);  // as many bits as fit above the rest
    rest = (rest << shift) % divisor;
    steps -= shift;
  }
  while (rest != 0 && rest < IMPLICIT_BIT && exponent > 1) {
    rest <<= 1;
    --exponent;
  }
  // The implicit bit, where it is set, counts as one more in the exponent.
  return rest == 0 ? 0 : ((exponent - 1) << MANTISSA_BITS) + rest;
}

uint ModulusTruncate(uint x, uint y) {
  return RemainderOfMagnitudes(x & ~SIGN_BIT, y & ~SIGN_BIT) | (x & SIGN_BIT);
}

#elif LANE_BITS == 64

uint2 Negated(uint2 x) { return uint2(0 - x.x, ~x.y + (x.x == 0 ? 1 : 0)); }

// The remainder of unsigned numbers; y is not zero.
uint2 Remainder(uint2 x, uint2 y) {
  if ((x.y | y.y) == 0) return uint2(x.x % max(y.x, 1), 0);
  uint2 rest = 0;
  [loop]
  for (uint i = 0; i < 64; ++i) {
    // The next bit of x moves into the rest; what moves out of it counts as 2^64.
    const bool carry = rest.y >> 31 != 0;
    rest = uint2(rest.x << 1 | x.y >> 31, rest.y << 1 | rest.x >> 31);
    x = uint2(x.x << 1, x.y << 1 | x.x >> 31);
    const bool is_less = rest.y < y.y || (rest.y == y.y && rest.x < y.x);
    if (carry || !is_less) {
      rest = uint2(rest.x - y.x, rest.y - y.y - (rest.x < y.x ? 1 : 0));
    }
  }
  return rest;
}

uint2 ModulusTruncate(uint2 x, uint2 y) {
#if LANE_IS_SIGNED
  if ((y.x | y.y) == 0) return x;
  const bool is_negative = x.y >> 31 != 0;
  const uint2 divisor = y.y >> 31 != 0 ? Negated(y) : y;
  const uint2 rest = Remainder(is_negative ? Negated(x) : x, divisor);
  return is_negative ? Negated(rest) : rest;
#else
  if ((y.x | y.y) == 0) return 0xffffffff;
  return Remainder(x, y);
#endif
}

#else

// Division by zero is kept away from the instruction: devices differ there.
uint ModulusTruncate(uint x, uint y) {
#if LANE_IS_SIGNED
  const bool is_negative = int(x) < 0;
  const uint divisor = int(y) < 0 ? 0 - y : y;
  const uint rest = (is_negative ? 0 - x : x) % max(divisor, 1);
  return y == 0 ? x : is_negative ? 0 - rest : rest;
#else
  return y == 0 ? 0xffffffff : x % max(y, 1);
#endif
}

#endif

