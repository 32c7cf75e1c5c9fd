
// ------------------------------------------------------------------ Arithmetic
//
// Part of the kernels of arithmetic, activations and elementary functions only. Words of 64 bits are
// a uint2, low word first. Functions of floats have one return, at their end: the compiler makes
// each statement after an earlier one conditional.

uint2 WideSum(uint2 x, uint2 y) {
  const uint low = x.x + y.x;
  return uint2(low, x.y + y.y + (low < x.x ? 1 : 0));
}

uint2 WideDifference(uint2 x, uint2 y) {
  return uint2(x.x - y.x, x.y - y.y - (x.x < y.x ? 1 : 0));
}

bool IsWideLess(uint2 x, uint2 y) { return x.y < y.y || (x.y == y.y && x.x < y.x); }

// All 64 bits of x * y, by halves: there is no instruction that HLSL has a name for.
uint2 WideProduct(uint x, uint y) {
  const uint low = (x & 0xffff) * (y & 0xffff);
  const uint left = (x >> 16) * (y & 0xffff);
  const uint right = (x & 0xffff) * (y >> 16);
  const uint middle = (low >> 16) + (left & 0xffff) + (right & 0xffff);
  const uint high = (x >> 16) * (y >> 16) + (left >> 16) + (right >> 16) + (middle >> 16);
  return uint2((low & 0xffff) | middle << 16, high);
}

// x / 2^shift, with the lowest bit set where digits were lost.
uint2 ShiftedRightToOdd(uint2 x, uint shift) {
  const bool is_word = shift > 31;
  const uint2 from = is_word ? uint2(x.y, 0) : x;
  const uint bits = shift & 31;
  // Shifts by 32 do not exist: by one, and by the rest.
  const uint carried = from.y << 1 << (31 - bits);
  const uint lost = (is_word ? x.x : 0) | from.x << 1 << (31 - bits);
  const uint low = from.x >> bits | carried | (lost != 0 ? 1 : 0);
  const uint any = (x.x | x.y) != 0 ? 1 : 0;
  return shift > 63 ? uint2(any, 0) : uint2(low, from.y >> bits);
}

// ------------------------------------------------------------------ Numbers of more digits
//
// A Number is what a formula has between its operands and its one rounding: mantissa *
// 2^(exponent - 62) and a sign. The mantissa begins at bit 62 or a few bits beside it. Where digits
// were lost its lowest bit is set ("rounded to odd"): it is on the same side of everything that an
// element, or the middle of two, can be. Infinity is a number with an exponent out of reach, and
// the exponent of zero is as far below, so that products, quotients and sums need no cases for
// them.

#define FAR_EXPONENT 0x10000

struct Number {
  bool is_nan;
  uint sign;  // 0 or 1
  int exponent;
  uint2 mantissa;
};

bool IsZero(Number x) { return (x.mantissa.x | x.mantissa.y) == 0; }

bool IsInfinite(Number x) { return !IsZero(x) && x.exponent >= FAR_EXPONENT / 2; }

bool IsPositive(Number x) { return !x.is_nan && x.sign == 0 && !IsZero(x); }

Number Negative(Number x) {
  x.sign ^= 1;
  return x;
}

// The number of an encoding of 1 + exponent_bits + mantissa_bits. Its mantissa is in the high word.
Number NumberOfBits(uint x, uint exponent_bits, uint mantissa_bits) {
  const uint most = (1u << exponent_bits) - 1;
  const uint exponent = x >> mantissa_bits & most;
  const uint fraction = x & ((1u << mantissa_bits) - 1);
  const uint high = (fraction | (exponent != 0 ? 1u << mantissa_bits : 0)) << (30 - mantissa_bits);
  // Denormals are moved to where others begin.
  const uint distance = high == 0 ? 0 : 30 - firstbithigh(high);
  Number number;
  number.is_nan = exponent == most && fraction != 0;
  number.sign = x >> (exponent_bits + mantissa_bits) & 1;
  number.exponent = int(max(exponent, 1)) - int(most >> 1) - int(distance);
  if (exponent == most) number.exponent = FAR_EXPONENT;
  if (high == 0) number.exponent = -FAR_EXPONENT;
  number.mantissa = uint2(0, high << distance);
  return number;
}

// FLOAT attributes have 32 bits, whatever elements have.
Number NumberOfFloat(uint x) { return NumberOfBits(x, 8, 23); }

// Operands: exact, in at most 50 digits, or, the one of them that is far below, rounded to odd.
Number Sum(Number x, Number y) {
  const bool is_y_greater = x.exponent < y.exponent;
  const uint distance = uint(is_y_greater ? y.exponent - x.exponent : x.exponent - y.exponent);
  const uint2 upper = is_y_greater ? y.mantissa : x.mantissa;
  const uint2 lower = ShiftedRightToOdd(is_y_greater ? x.mantissa : y.mantissa, distance);
  const uint upper_sign = is_y_greater ? y.sign : x.sign;
  Number sum;
  sum.is_nan = x.is_nan || y.is_nan || (IsInfinite(x) && IsInfinite(y) && x.sign != y.sign);
  sum.exponent = max(x.exponent, y.exponent);
  if (x.sign == y.sign) {
    sum.sign = x.sign;
    sum.mantissa = WideSum(upper, lower);
  } else {
    // A sum of nothing is +0.
    const bool is_turned = IsWideLess(upper, lower);
    sum.mantissa = is_turned ? WideDifference(lower, upper) : WideDifference(upper, lower);
    sum.sign = IsZero(sum) ? 0 : is_turned ? 1 - upper_sign : upper_sign;
  }
  return sum;
}

Number Difference(Number x, Number y) { return Sum(x, Negative(y)); }

// Operands have their digits in the high word; 48 digits are exact.
Number Product(Number x, Number y) {
  Number product;
  product.is_nan = x.is_nan || y.is_nan || (IsInfinite(x) && IsZero(y)) ||
                   (IsZero(x) && IsInfinite(y));
  product.sign = x.sign ^ y.sign;
  product.exponent = x.exponent + y.exponent + 2;
  product.mantissa = WideProduct(x.mantissa.y, y.mantissa.y);
  return product;
}

// The same with its first digit in bit 63; zero stays zero.
Number Normalized(Number x) {
  const bool is_low = x.mantissa.y == 0;
  const uint2 words = is_low ? uint2(0, x.mantissa.x) : x.mantissa;
  const uint distance = 31 - firstbithigh(words.y | (words.y == 0 ? 1 : 0));
  x.mantissa = uint2(words.x << distance, words.y << distance | words.x >> 1 >> (31 - distance));
  x.exponent -= int(distance) + (is_low ? 32 : 0);
  return x;
}

// ------------------------------------------------------------------ Arithmetic of floats

#ifdef MANTISSA_BITS

Number NumberOf(uint x) { return NumberOfBits(x, LANE_BITS - MANTISSA_BITS - 1, MANTISSA_BITS); }

// The nearest element, to even where two are equally near.
uint Rounded(Number x) {
  const Number from = Normalized(x);
  // One word is enough, with what is below it in its lowest bit.
  const uint top = from.mantissa.y | (from.mantissa.x != 0 ? 1 : 0);
  const int exponent = from.exponent + 1 + int(EXPONENT_BIAS);
  // Two more bits than an element has: a half, and anything below it. Denormals have fewer bits.
  const uint missing = exponent < 1 ? uint(1 - exponent) : 0;
  const uint shift = min(29 - MANTISSA_BITS + missing, 31);
  const uint lost = top & ((1u << shift) - 1);
  const uint kept = top >> shift | (lost != 0 ? 1 : 0);
  const uint mantissa = (kept + 1 + (kept >> 2 & 1)) >> 2;
  // The implicit bit, and a carry out of the mantissa, count as one more in the exponent.
  const uint below = uint(min(max(exponent, 1), int(2 * EXPONENT_BIAS + 1))) - 1;
  const uint magnitude = min((below << MANTISSA_BITS) + mantissa, INFINITY_BITS);
  const uint sign = x.sign << (LANE_BITS - 1);
  return x.is_nan ? QUIET_NAN_BITS : IsZero(x) ? sign : sign | magnitude;
}

uint Added(uint x, uint y) { return Rounded(Sum(NumberOf(x), NumberOf(y))); }

uint Subtracted(uint x, uint y) { return Rounded(Difference(NumberOf(x), NumberOf(y))); }

uint Mean(uint x, uint y) {
  Number sum = Sum(NumberOf(x), NumberOf(y));
  sum.exponent -= 1;
  return Rounded(sum);
}

uint Multiplied(uint x, uint y) { return Rounded(Product(NumberOf(x), NumberOf(y))); }

// Long division in base 128, which is what fits above the 24 bits of a rest.
Number Quotient(Number x, Number y) {
  const uint divisor = IsZero(y) ? 1u << 23 : y.mantissa.y >> 7;
  const uint dividend = x.mantissa.y >> 7;
  uint digits = dividend >= divisor ? 1 : 0;
  uint rest = dividend - (dividend >= divisor ? divisor : 0);
  [loop]
  for (uint i = 0; i < 4; ++i) {
    const uint digit = (rest << 7) / divisor;
    rest = (rest << 7) - digit * divisor;
    digits = digits << 7 | digit;
  }
  Number quotient;
  quotient.is_nan = x.is_nan || y.is_nan || (IsZero(x) && IsZero(y)) ||
                    (IsInfinite(x) && IsInfinite(y));
  quotient.sign = x.sign ^ y.sign;
  quotient.exponent = x.exponent - y.exponent;
  quotient.mantissa = uint2(rest != 0 ? 1 : 0, digits << 2);
  return quotient;
}

uint Divided(uint x, uint y) { return Rounded(Quotient(NumberOf(x), NumberOf(y))); }

uint Reciprocal(uint x) { return Divided(EXPONENT_BIAS << MANTISSA_BITS, x); }

// 28 digits of the root, one by one, each of two digits of the radicand.
uint SquareRoot(uint x) {
  Number number = NumberOf(x);
  const uint odd = uint(number.exponent) & 1;
  uint radicand = number.mantissa.y << odd;
  uint root = 0;
  uint rest = 0;
  [loop]
  for (uint i = 0; i < 28; ++i) {
    rest = rest << 2 | radicand >> 30;
    radicand <<= 2;
    root <<= 1;
    const uint step = root << 1 | 1;
    if (rest >= step) {
      rest -= step;
      root |= 1;
    }
  }
  number.is_nan = number.is_nan || (number.sign != 0 && !IsZero(number));
  number.exponent >>= 1;
  number.mantissa = uint2(rest != 0 ? 1 : 0, root << 3);
  return Rounded(number);
}

// x^2 - 2xy + y^2. Digits of the last two that do not fit are far below those of the square of the
// greater, so that two sums, each rounded to odd, are as good as one.
uint DifferenceSquared(uint x, uint y) {
  const bool is_y_greater = (x & ~SIGN_BIT) < (y & ~SIGN_BIT);
  const Number a = NumberOf(is_y_greater ? y : x);
  const Number b = NumberOf(is_y_greater ? x : y);
  Number twice = Product(a, b);
  twice.exponent += 1;
  Number square = Sum(Product(a, a), Difference(Product(b, b), twice));
  // The formula has no value where the greater is infinite.
  if (IsInfinite(a)) {
    square = Product(a, a);
    square.is_nan = a.is_nan || b.is_nan || (IsInfinite(b) && a.sign == b.sign);
  }
  return Rounded(square);
}

// ------------------------------------------------------------------ Arithmetic of integers

#elif LANE_BITS == 64

uint2 Added(uint2 x, uint2 y) { return WideSum(x, y); }

uint2 Subtracted(uint2 x, uint2 y) { return WideDifference(x, y); }

uint2 Multiplied(uint2 x, uint2 y) {
  const uint2 low = WideProduct(x.x, y.x);
  return uint2(low.x, low.y + x.x * y.y + x.y * y.x);
}

// Of unsigned numbers; y is not zero. The high word of the quotient is one division of words, as
// there is none where y has a high word itself. The low word is found bit by bit.
uint2 UnsignedQuotient(uint2 x, uint2 y) {
  const uint word = max(y.x, 1);
  const uint high = y.y == 0 ? x.y / word : 0;
  uint2 rest = uint2(y.y == 0 ? x.y % word : x.y, 0);
  uint low = x.x;
  [loop]
  for (uint i = 0; i < 32; ++i) {
    // The next bit of x moves into the rest; what moves out of it counts as 2^64.
    const bool carry = rest.y >> 31 != 0;
    rest = uint2(rest.x << 1 | low >> 31, rest.y << 1 | rest.x >> 31);
    low <<= 1;
    if (carry || !IsWideLess(rest, y)) {
      rest = WideDifference(rest, y);
      low |= 1;
    }
  }
  return uint2(low, high);
}

uint2 Divided(uint2 x, uint2 y) {
  const uint2 minus_one = 0xffffffff;
#if LANE_IS_SIGNED
  const bool is_x_negative = x.y >> 31 != 0;
  const bool is_y_negative = y.y >> 31 != 0;
  if ((y.x | y.y) == 0) return is_x_negative ? uint2(1, 0) : minus_one;
  const uint2 quotient =
      UnsignedQuotient(is_x_negative ? Negated(x) : x, is_y_negative ? Negated(y) : y);
  return is_x_negative != is_y_negative ? Negated(quotient) : quotient;
#else
  if ((y.x | y.y) == 0) return minus_one;
  return UnsignedQuotient(x, y);
#endif
}

#else

// What does not fit is cut off where elements are packed.
uint Added(uint x, uint y) { return x + y; }

uint Subtracted(uint x, uint y) { return x - y; }

uint Multiplied(uint x, uint y) { return x * y; }

uint DifferenceSquared(uint x, uint y) { return (x - y) * (x - y); }

// Division by zero is kept away from the instruction: devices differ there.
uint Divided(uint x, uint y) {
#if LANE_IS_SIGNED
  const bool is_negative = int(x ^ y) < 0;
  const uint divisor = int(y) < 0 ? 0 - y : y;
  const uint quotient = (int(x) < 0 ? 0 - x : x) / max(divisor, 1);
  if (y == 0) return int(x) < 0 ? 1 : 0xffffffff;
  return is_negative ? 0 - quotient : quotient;
#else
  return y == 0 ? 0xffffffff : x / max(y, 1);
#endif
}

// Bits that both have, and half of those that one has.
uint Mean(uint x, uint y) {
#if LANE_IS_SIGNED
  const uint below = (x & y) + uint(int(x ^ y) >> 1);
  return below + (int(below) < 0 ? (x ^ y) & 1 : 0);
#else
  return (x & y) + ((x ^ y) >> 1);
#endif
}

#endif

// ------------------------------------------------------------------ Activations

#ifdef MANTISSA_BITS

#define ONE_BITS (EXPONENT_BIAS << MANTISSA_BITS)

Number LinearNumber(Number x, uint alpha, uint beta) {
  return Sum(Product(x, NumberOfFloat(alpha)), NumberOfFloat(beta));
}

uint Linear(uint x, uint alpha, uint beta) {
  return Rounded(LinearNumber(NumberOf(x), alpha, beta));
}

uint LeakyRelu(uint x, uint alpha) {
  const uint product = Rounded(Product(NumberOf(x), NumberOfFloat(alpha)));
  return IsLessOrEqual(0, x) ? x : product;
}

uint ParameterizedRelu(uint x, uint slope) {
  return IsLessOrEqual(0, x) ? x : Multiplied(x, slope);
}

// What rounds to one or more is limited to one, as what is one or more.
uint HardSigmoid(uint x, uint alpha, uint beta) {
  const Number value = LinearNumber(NumberOf(x), alpha, beta);
  return IsPositive(value) ? min(Rounded(value), ONE_BITS) : 0;
}

uint Shrink(uint x, uint bias, uint threshold) {
  const bool is_above = ExceedsLimit(x, threshold);
  const bool is_below = IsBelowLimit(x, threshold ^ 0x80000000);
  const uint addend = is_above ? bias ^ 0x80000000 : bias;
  const uint moved = Rounded(Sum(NumberOf(x), NumberOfFloat(addend)));
  return is_above || is_below ? moved : 0;
}

// x / (1 + |x|). Elements far from one are so near to x, or to 1, that no other is nearer.
uint Softsign(uint x) {
  Number number = NumberOf(x);
  const int exponent = number.exponent;
  Number magnitude = number;
  magnitude.sign = 0;
  Number divisor = Sum(magnitude, NumberOfFloat(0x3f800000));
  if (divisor.mantissa.y >> 31 != 0) {
    // Nothing is lost: the last digits of the two are 54 bits from the first, or nearer.
    divisor.mantissa = ShiftedRightToOdd(divisor.mantissa, 1);
    divisor.exponent += 1;
  }
  // 29 digits, one by one: the divisor may have 54.
  uint2 rest = number.mantissa;
  uint digits = 0;
  [loop]
  for (uint i = 0; i < 29; ++i) {
    digits <<= 1;
    if (!IsWideLess(rest, divisor.mantissa)) {
      rest = WideDifference(rest, divisor.mantissa);
      digits |= 1;
    }
    rest = uint2(rest.x << 1, rest.y << 1 | rest.x >> 31);
  }
  number.exponent -= divisor.exponent;
  number.mantissa = uint2((rest.x | rest.y) != 0 ? 1 : 0, digits << 2);
  const uint quotient = Rounded(number);
  const uint one = (x & SIGN_BIT) | ONE_BITS;
  return IsNan(x) || exponent < -30 ? Quiet(x) : exponent > 30 ? one : quotient;
}

// x * y, where x has any digits and y has its own in the high word.
Number ProductOfWide(Number x, Number y) {
  x = Normalized(x);
  const uint2 low = WideProduct(x.mantissa.x, y.mantissa.y);
  Number product = Product(x, y);
  product.mantissa = WideSum(product.mantissa, uint2(low.y | (low.x != 0 ? 1 : 0), 0));
  return product;
}

// x * (alpha * x + beta). Where the two terms are near each other, all digits of their sum are
// there to be multiplied. Where they are far from each other, the greater, without its low digits
// where it is a product of three, comes last, to a sum of the others whose loss is far below its
// digits.
Number SwishNumber(Number x, Number product, Number beta) {
  const int distance = product.exponent - beta.exponent;
  Number high = product;
  high.mantissa = uint2(0, product.mantissa.y);
  Number low = product;
  low.mantissa = uint2(0, product.mantissa.x >> 1);
  low.exponent -= 31;
  const Number square = Product(high, x);
  const Number rest = Product(low, x);
  const Number scaled = Product(beta, x);
  Number first = square;
  Number second = scaled;
  if (distance < 0) {
    first = scaled;
    second = square;
  }
  Number result = Sum(first, Sum(second, rest));
  if (-12 <= distance && distance <= 12) result = ProductOfWide(Sum(product, beta), x);
  return result;
}

uint HardSwish(uint x, uint alpha, uint beta) {
  const Number number = NumberOf(x);
  const Number a = NumberOfFloat(alpha);
  const Number b = NumberOfFloat(beta);
  const Number product = Product(number, a);
  const Number factor = Sum(product, b);
  const bool is_one = !IsPositive(Difference(NumberOfFloat(0x3f800000), factor));
  const bool has_limit =
      !a.is_nan && !b.is_nan && !IsInfinite(a) && !IsInfinite(b) && !IsZero(a);
  const uint nothing = IsInfinite(number) && !has_limit ? QUIET_NAN_BITS : x & SIGN_BIT;
  const uint inside = Rounded(SwishNumber(number, product, b));
  const uint limited = !IsPositive(factor) ? nothing : is_one ? x : inside;
  return number.is_nan || IsZero(number) ? Quiet(x) : limited;
}

#elif LANE_BITS < 64

uint ParameterizedRelu(uint x, uint slope) { return IsLess(x, 0) ? x * slope : x; }

Number NumberOfInteger(uint x) {
  const bool is_negative = LANE_IS_SIGNED && int(x) < 0;
  const uint magnitude = is_negative ? 0 - x : x;
  Number number;
  number.is_nan = false;
  number.sign = is_negative ? 1 : 0;
  number.exponent = 31;
  number.mantissa = uint2(magnitude << 31, magnitude >> 1);
  return number;
}

// The nearest integer, to even where two are equally near, saturated; 0 for NaN. The exponent is 31
// or more, as it is after a sum with an integer.
uint RoundedToInteger(Number x) {
  // Two more bits than an integer has: a half, and anything below it.
  const uint2 kept = ShiftedRightToOdd(x.mantissa, uint(60 - min(x.exponent, 60)));
  const uint2 sum = WideSum(kept, uint2(1 + (kept.x >> 2 & 1), 0));
#if LANE_IS_SIGNED
  const uint most = (1u << (LANE_BITS - 1)) - 1 + x.sign;
#else
  const uint most = x.sign != 0 ? 0 : 0xffffffffu >> (32 - LANE_BITS);
#endif
  const uint whole = sum.x >> 2 | sum.y << 30;
  const bool is_more = x.exponent > 40 || sum.y >> 2 != 0 || whole > most;
  const uint magnitude = is_more ? most : whole;
  return x.is_nan ? 0 : x.sign != 0 ? 0 - magnitude : magnitude;
}

uint Shrink(uint x, uint bias, uint threshold) {
  const Number number = NumberOfInteger(x);
  const Number limit = NumberOfFloat(threshold);
  const bool is_above = IsPositive(Difference(number, limit));
  const bool is_below = IsPositive(Difference(Negative(limit), number));
  const uint moved =
      RoundedToInteger(Sum(number, NumberOfFloat(is_above ? bias ^ 0x80000000 : bias)));
  return is_above || is_below ? moved : 0;
}

#endif
