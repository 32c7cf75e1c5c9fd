
// ------------------------------------------------------------------ Rounding and remainders

#ifdef MANTISSA_BITS

// By RoundingMode: 0 halves to even, 1 toward zero, 2 halves away from zero. Without branches: a
// group has elements for each of them.
#if MANTISSA_BITS == 10
// By float instructions, which are exact for each FLOAT16 and its integer, and faster than memory.
// They may flush denormals, which are 0 when they are rounded, in each mode.
uint RoundMagnitude(uint mode, uint x) {
  const float value = f16tof32(x);
  const float rounded = mode == 0 ? round(value) : floor(value + (mode == 1 ? 0.0f : 0.5f));
  return x > INFINITY_BITS ? x | QUIET_NAN_BITS : f32tof16(rounded);
}
#else
uint RoundMagnitude(uint mode, uint x) {
  const uint exponent = x >> MANTISSA_BITS;
  const uint integral = EXPONENT_BIAS + MANTISSA_BITS;
  const uint fraction_bits = integral - min(max(exponent, EXPONENT_BIAS), integral);
  const uint unit = 1u << fraction_bits;
  const uint fraction_mask = unit - 1;
  // A carry out of the mantissa is a carry into the exponent, which is what is wanted. The lowest
  // bit of the exponent of 1 is set, like the implicit bit it stands for.
  const uint half = unit >> 1;
  const uint is_odd = x >> fraction_bits & 1;
  const uint up = mode == 0 ? (half - 1 + is_odd) & fraction_mask : mode == 1 ? 0 : half;
  const uint one = EXPONENT_BIAS << MANTISSA_BITS;
  const uint least_up = one - IMPLICIT_BIT + (mode == 0 ? 1 : 0);
  const uint below_one = mode != 1 && x >= least_up ? one : 0;
  const uint result = exponent < EXPONENT_BIAS ? below_one : (x + up) & ~fraction_mask;
  return x > INFINITY_BITS ? x | QUIET_NAN_BITS : result;
}
#endif

uint Round(uint mode, uint x) {
  return RoundMagnitude(mode, x & ~SIGN_BIT) | (x & SIGN_BIT);
}

// A magnitude rounded to an integral one, up or down.
uint RoundMagnitudeTo(bool up, uint x) {
  if (x > INFINITY_BITS) return x | QUIET_NAN_BITS;
  const uint exponent = x >> MANTISSA_BITS;
  if (exponent >= EXPONENT_BIAS + MANTISSA_BITS) return x;  // integral, or infinite
  const uint one = EXPONENT_BIAS << MANTISSA_BITS;
  if (exponent < EXPONENT_BIAS) return up && x != 0 ? one : 0;
  const uint fraction_mask = (1u << (EXPONENT_BIAS + MANTISSA_BITS - exponent)) - 1;
  return (x + (up ? fraction_mask : 0)) & ~fraction_mask;
}

uint RoundedDown(uint x) {
  const uint sign = x & SIGN_BIT;
  return RoundMagnitudeTo(sign != 0, x & ~SIGN_BIT) | sign;
}

uint RoundedUp(uint x) {
  const uint sign = x & SIGN_BIT;
  return RoundMagnitudeTo(sign == 0, x & ~SIGN_BIT) | sign;
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

// x - y of magnitudes, x above y, rounded to the nearest, to even where two are equally near.
uint DifferenceOfMagnitudes(uint x, uint y) {
  if (x >= INFINITY_BITS) return x;
  const uint mantissa_mask = IMPLICIT_BIT - 1;
  uint exponent = max(x >> MANTISSA_BITS, 1);
  const uint distance = exponent - max(y >> MANTISSA_BITS, 1);
  // Three bits below the last one; the lowest tells whether there is anything below it.
  const uint minuend = ((x & mantissa_mask) | (x >= IMPLICIT_BIT ? IMPLICIT_BIT : 0)) << 3;
  const uint unshifted = ((y & mantissa_mask) | (y >= IMPLICIT_BIT ? IMPLICIT_BIT : 0)) << 3;
  uint subtrahend = unshifted != 0 ? 1 : 0;
  if (distance < 28) {
    const uint lost = unshifted & ((1u << distance) - 1);
    subtrahend = unshifted >> distance | (lost != 0 ? 1 : 0);
  }
  uint rest = minuend - subtrahend;
  while (rest < IMPLICIT_BIT << 3 && exponent > 1) {
    rest <<= 1;
    --exponent;
  }
  // A carry out of the mantissa, and the implicit bit, count as one more in the exponent.
  const uint rounded = (rest + 3 + (rest >> 3 & 1)) >> 3;
  return ((exponent - 1) << MANTISSA_BITS) + rounded;
}

uint ModulusFloor(uint x, uint y) {
  const uint rest = RemainderOfMagnitudes(x & ~SIGN_BIT, y & ~SIGN_BIT);
  const uint sign = y & SIGN_BIT;
  if (rest > INFINITY_BITS) return rest;
  if (rest == 0 || (x & SIGN_BIT) == sign) return rest | sign;
  return DifferenceOfMagnitudes(y & ~SIGN_BIT, rest) | sign;
}

#elif LANE_BITS == 64

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

uint2 ModulusFloor(uint2 x, uint2 y) {
  const uint2 rest = ModulusTruncate(x, y);
#if LANE_IS_SIGNED
  const uint2 minus_one = 0xffffffff;
  if ((y.x | y.y) == 0) return x.y >> 31 != 0 ? uint2(1, 0) : minus_one;
  if ((rest.x | rest.y) == 0 || (rest.y ^ y.y) >> 31 == 0) return rest;
  const uint low = rest.x + y.x;
  return uint2(low, rest.y + y.y + (low < y.x ? 1 : 0));
#else
  return rest;
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

uint ModulusFloor(uint x, uint y) {
  const uint rest = ModulusTruncate(x, y);
#if LANE_IS_SIGNED
  if (y == 0) return int(x) < 0 ? 1 : 0xffffffff;
  return rest != 0 && int(rest ^ y) < 0 ? rest + y : rest;
#else
  return rest;
#endif
}

#endif
