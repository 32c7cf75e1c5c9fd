
// ------------------------------------------------------------------ Powers
//
// Part of the kernels of powers only.

// odd * 2^exponent; of zero, 0.
struct OddFactor {
  uint2 odd;
  int exponent;
};

OddFactor OddFactorOf(Number x) {
  const bool is_high = x.mantissa.x == 0;
  const uint word = is_high ? x.mantissa.y : x.mantissa.x;
  // Not firstbithigh of the lowest bit alone: a compiler of NVIDIA's fails there.
  const uint zeros = (word == 0 ? 0 : firstbitlow(word)) + (is_high ? 32 : 0);
  OddFactor factor;
  factor.odd = ShiftedRightToOdd(x.mantissa, zeros);
  factor.exponent = x.exponent - 62 + int(zeros);
  return factor;
}

// Infinity is, and is even.
bool IsWhole(Number x) { return !x.is_nan && (IsZero(x) || OddFactorOf(x).exponent >= 0); }

bool IsOdd(Number x) { return !x.is_nan && !IsZero(x) && OddFactorOf(x).exponent == 0; }

#ifdef MANTISSA_BITS

// The low 64 bits of x * y.
uint2 LowProduct(uint2 x, uint2 y) {
  const uint2 low = WideProduct(x.x, y.x);
  return uint2(low.x, low.y + x.x * y.y + x.y * y.x);
}

// x^n modulo 2^64, n < 1024.
uint2 LowPower(uint2 x, uint n) {
  uint2 power = uint2(1, 0);
  [loop]
  for (uint bit = 0; bit < 10; ++bit) {
    if ((n >> bit & 1) != 0) power = LowProduct(power, x);
    x = LowProduct(x, x);
  }
  return power;
}

// Whether power = |x|^y, where the two differ by less than 2^-46 of themselves. With y = n / 2^k
// that is power^(2^k) = |x|^n. Odd factors of fewer than 111 digits that are as near to each other
// are equal where their low 64 bits are. Always false where that says nothing.
bool IsPowerOf(Number power, Number x, Number y) {
  const OddFactor base = OddFactorOf(x);
  const OddFactor result = OddFactorOf(power);
  const OddFactor exponent = OddFactorOf(y);
  const uint roots = uint(min(max(-exponent.exponent, 0), 7));
  const uint doublings = uint(min(max(exponent.exponent, 0), 10));
  const uint steps = min(exponent.odd.x, 1024) << doublings;
  const bool is_short = exponent.odd.y == 0 && exponent.exponent >= -6 &&
                        exponent.exponent <= 10 && steps < 1024;
  const uint digits = result.odd.y != 0 ? 33 + firstbithigh(result.odd.y)
                                        : 1 + firstbithigh(max(result.odd.x, 1));
  const int scale = base.exponent * int(is_short ? steps : 0);
  const uint2 left = LowPower(result.odd, 1u << roots);
  const uint2 right = LowPower(base.odd, steps & 1023);
  return !power.is_nan && is_short && digits << roots <= 110 &&
         (result.exponent << roots) == (y.sign != 0 ? -scale : scale) && left.x == right.x &&
         left.y == right.y;
}

// A power of magnitudes with what decides about it.
struct Power {
  Number value;
  uint doubt;  // in units of the 63rd digit
};

// y times the logarithm is as much more in doubt as it is greater than one.
Power PowerOf(Number x, Number y) {
  const Number product = ProductOfAny(LogarithmOr(Magnitude(x), false, x), y);
  Power power;
  power.value = Exponential(product);
  power.doubt = 128u << uint(min(max(product.exponent, 0), 8));
  return power;
}

// The number with the fewest digits among those that differ from x by up to `doubt` units of the
// 63rd digit: an element, or a middle of two, if one is there.
Number Roundest(Number x, uint doubt) {
  x = Aligned(x);
  const uint2 below = WideDifference(x.mantissa, uint2(doubt, 0));
  const uint2 above = WideSum(x.mantissa, uint2(doubt, 0));
  const uint2 differing = uint2(below.x ^ above.x, below.y ^ above.y);
  const bool is_high = differing.y != 0;
  const uint last = firstbithigh((is_high ? differing.y : differing.x) | 1);
  const uint kept = 0xffffffff << last;
  x.mantissa = is_high ? uint2(0, above.y & kept) : uint2(above.x & kept, above.y);
  return x;
}

// C's pow. Where many results are in the middle of two elements, as squares and cubes are, no number
// of digits would decide about them.
uint DecidedPower(uint x, Number y) {
  const Number base = NumberOf(x);
  const uint magnitude_bits = x & ~SIGN_BIT;
  const bool is_negative = base.sign != 0 && !base.is_nan;
  const Power usual = PowerOf(base, y);
  Number power = usual.value;
  // Zero and infinity have no logarithm, and one none that is not zero.
  const bool is_end = IsZero(base) || IsInfinite(base);
  const bool is_growing = IsInfinite(base) == (y.sign == 0);
  if (is_end && is_growing) power = NumberOf(INFINITY_BITS);
  if (is_end && !is_growing) power = Zero();
  if (magnitude_bits == ONE_BITS) power = One();
  power.is_nan = base.is_nan || y.is_nan || (is_negative && !is_end && !IsWhole(y));
  if (IsZero(y) || x == ONE_BITS) power = One();
  power.sign = is_negative && IsOdd(y) ? 1 : 0;
  const bool was_open = is_open;
  const uint decided = Decided(power, usual.doubt);
  const Number roundest = Roundest(power, usual.doubt);
  const bool is_exact = IsPowerOf(roundest, base, y);
  is_open = is_exact ? was_open : is_open;
  return is_exact ? Rounded(roundest) : decided;
}

// Results of floats do not depend on the type of the exponent.
uint DecidedPower(uint x, Number y, uint type) { return DecidedPower(x, y); }

#else

// A magnitude, of which 0xffffffff stands for more as well, with its sign.
uint Saturated(uint magnitude, bool is_negative) {
#if LANE_IS_SIGNED
  const uint most = (1u << (LANE_BITS - 1)) - (is_negative ? 0 : 1);
#else
  const uint most = 0xffffffffu >> (32 - LANE_BITS);
#endif
  const uint saturated = min(magnitude, most);
  return is_negative ? 0 - saturated : saturated;
}

// What of a magnitude is before the point; 0xffffffff where that is more.
uint WholeOf(Number x) {
  const Number from = Normalized(x);
  const uint whole = from.mantissa.y >> uint(min(max(30 - from.exponent, 0), 31));
  return from.exponent < -1 ? 0 : from.exponent > 30 ? 0xffffffff : whole;
}

// Integers to whole powers saturate, or wrap where they have 32 bits and the exponent is an integer
// too. Powers of integers that are no whole ones are left open, but where they are 0 or 1.
uint DecidedPower(uint x, Number y, uint type) {
  const bool is_negative = LANE_IS_SIGNED && int(x) < 0;
  const uint magnitude = is_negative ? 0 - x : x;
  // Negative exponents leave nothing but of 1 and -1.
  const bool is_left = y.sign == 0 || IsZero(y) || magnitude == 1;
  const uint steps = WholeOf(y);
  uint2 factor = uint2(is_left ? magnitude : 0, 0);
  uint2 power = uint2(1, 0);
  bool is_more = false;
  [loop]
  for (uint bit = 0; bit < 32; ++bit) {
    const uint2 product = WideProduct(power.x, factor.x);
    const bool is_factor = (steps >> bit & 1) != 0;
    is_more = is_more || (is_factor && (product.y | factor.y) != 0);
    if (is_factor) power = product;
    const uint2 square = WideProduct(factor.x, factor.x);
    factor = uint2(square.x, square.y | factor.y);
  }
  const bool is_below = is_negative && IsOdd(y);
  const bool is_wrapped = LANE_BITS == 32 && (type & 16) == 0;
  const uint saturated = Saturated(is_more ? 0xffffffff : power.x, is_below);
  const uint wrapped = is_below ? 0 - power.x : power.x;
  const bool is_whole = IsWhole(y);
  const bool is_fraction =
      !is_whole && !is_negative && magnitude > 1 && y.sign == 0 && !y.is_nan;
  is_open = is_open || is_fraction;
  const uint rest = x == 1 ? 1 : 0;
  return is_whole ? (is_wrapped ? wrapped : saturated) : rest;
}

#endif
