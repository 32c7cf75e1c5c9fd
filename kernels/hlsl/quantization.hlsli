
// ------------------------------------------------------------------ Quantisation
//
// Part of the kernels of quantisation only, whose inputs are numbers of types of their own.

// The difference of two integers, exact, with its digits in the high word but the last of 33.
Number IntegerDifference(Number x, Number y) {
  Number difference = Normalized(Difference(x, y));
  if (IsZero(difference)) difference.exponent = -FAR_EXPONENT;
  return difference;
}

#ifdef MANTISSA_BITS

uint Dequantize(Number v, Number scale, Number zero_point) {
  return Rounded(ProductOfWide(IntegerDifference(v, zero_point), scale));
}

#else

// An integer of fewer than 32 bits, as TypedNumber has it.
int IntegerOf(Number x) {
  const int magnitude = int(x.mantissa.y << 1 | x.mantissa.x >> 31);
  return x.sign != 0 ? -magnitude : magnitude;
}

// The integer next to |x / y|, to even where two are equally near; 4096 where that is more than
// 2048, beyond which every result saturates. x may be rounded to odd: the middles between integers,
// times y, have far fewer digits.
uint NearestQuotient(Number x, Number y) {
  const Number dividend = Normalized(x);
  const Number divisor = Normalized(y);
  const uint2 by = ShiftedRightToOdd(divisor.mantissa, 1);
  uint2 rest = ShiftedRightToOdd(dividend.mantissa, 1);
  uint digits = 0;
  [loop]
  for (uint i = 0; i < 16; ++i) {
    const bool is_one = !IsWideLess(rest, by);
    rest = is_one ? WideDifference(rest, by) : rest;
    rest = uint2(rest.x << 1, rest.y << 1 | rest.x >> 31);
    digits = digits << 1 | (is_one ? 1 : 0);
  }
  // The digits are units of 2^(distance - 15): those of quarters are a half and what is below it.
  const int distance = dividend.exponent - divisor.exponent;
  const uint shift = min(uint(13 - min(distance, 11)), 31);
  const bool is_inexact = (rest.x | rest.y) != 0 || (digits & ((1u << shift) - 1)) != 0;
  const uint quarters = digits >> shift | (is_inexact ? 1 : 0);
  const uint nearest = (quarters + 1 + (quarters >> 2 & 1)) >> 2;
  return IsZero(x) ? 0 : distance > 11 ? 4096 : nearest;
}

// The integer next to x / scale, and the zero point, saturated; `of_nan` where there is no quotient.
uint QuantizedOr(uint of_nan, Number x, Number scale, Number zero_point) {
#if LANE_IS_SIGNED
  const int least = -128;
  const int most = 127;
#else
  const int least = 0;
  const int most = 255;
#endif
  const int nearest = int(NearestQuotient(x, scale));
  const int whole = (x.sign != scale.sign ? -nearest : nearest) + IntegerOf(zero_point);
  const bool is_nan = x.is_nan || scale.is_nan || (IsZero(x) && IsZero(scale)) ||
                      (IsInfinite(x) && IsInfinite(scale));
  return is_nan ? of_nan : uint(min(max(whole, least), most));
}

uint Quantize(Number v, Number scale, Number zero_point) {
  return QuantizedOr(0, v, scale, zero_point);
}

// (a - z) * s + (b - w) * t, over r, plus u. Integers of 9 bits and products of 33 are exact, and
// what their sum loses where they are far apart is in its lowest bit.
uint AddQuantized(Number a, Number s, Number z, Number b, Number t, Number w, Number r, Number u) {
  const Number sum = Sum(Product(IntegerDifference(a, z), s), Product(IntegerDifference(b, w), t));
  return QuantizedOr(LANE_IS_SIGNED ? 0x80 : 0, sum, r, u);
}

#endif
