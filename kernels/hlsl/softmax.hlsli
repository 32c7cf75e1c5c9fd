
// ------------------------------------------------------------------ Softmax and its kin
//
// Part of the kernels of SOFTMAX and LOG_SOFTMAX only, in FLOAT32 and FLOAT16. With M the largest
// element of the row, d = x - M and S the sum of all e^d, SOFTMAX is e^d / S and LOG_SOFTMAX is
// d - ln S, whose terms have one sign.

#ifdef MANTISSA_BITS

// A sum of powers: eight words in units of 2^-224, the last one what is before the point. Integers
// have no order of their sum. Of 2^30 powers each is off by less than a unit, so all together by
// less than 2^-194.
struct RowSum {
  uint2 lowest;
  uint2 low;
  uint2 high;
  uint2 top;
};

RowSum EmptySum() {
  RowSum sum;
  sum.lowest = uint2(0, 0);
  sum.low = uint2(0, 0);
  sum.high = uint2(0, 0);
  sum.top = uint2(0, 0);
  return sum;
}

// x + y + carry, and the carry out of it.
uint2 SumAndCarry(uint x, uint y, uint carry) {
  const uint sum = x + y;
  const uint all = sum + carry;
  return uint2(all, (sum < x ? 1 : 0) + (all < sum ? 1 : 0));
}

RowSum SumOfSums(RowSum x, RowSum y) {
  const uint2 a = SumAndCarry(x.lowest.x, y.lowest.x, 0);
  const uint2 b = SumAndCarry(x.lowest.y, y.lowest.y, a.y);
  const uint2 c = SumAndCarry(x.low.x, y.low.x, b.y);
  const uint2 d = SumAndCarry(x.low.y, y.low.y, c.y);
  const uint2 e = SumAndCarry(x.high.x, y.high.x, d.y);
  const uint2 f = SumAndCarry(x.high.y, y.high.y, e.y);
  const uint2 g = SumAndCarry(x.top.x, y.top.x, f.y);
  const uint2 h = SumAndCarry(x.top.y, y.top.y, g.y);
  RowSum sum;
  sum.lowest = uint2(a.x, b.x);
  sum.low = uint2(c.x, d.x);
  sum.high = uint2(e.x, f.x);
  sum.top = uint2(g.x, h.x);
  return sum;
}

// The sum of one power, which is at most 1: rounded to odd, so that none but zero vanishes.
RowSum SumOfPower(Number power) {
  const int shift = power.exponent + 162;
  const uint up = uint(max(shift, 0));
  const uint bits = up & 31;
  const uint2 from = ShiftedRightToOdd(power.mantissa, uint(max(-shift, 0)));
  const uint first = from.x << bits;
  const uint second = from.y << bits | from.x >> 1 >> (31 - bits);
  const uint third = from.y >> 1 >> (31 - bits);
  // Up by as many words as there are.
  RowSum sum = EmptySum();
  sum.lowest = uint2(first, second);
  sum.low = uint2(third, 0);
  if ((up & 32) != 0) {
    sum.lowest = uint2(0, first);
    sum.low = uint2(second, third);
  }
  if ((up & 64) != 0) {
    sum.high = sum.low;
    sum.low = sum.lowest;
    sum.lowest = uint2(0, 0);
  }
  if ((up & 128) != 0) {
    sum.top = sum.low;
    sum.high = sum.lowest;
    sum.low = uint2(0, 0);
    sum.lowest = uint2(0, 0);
  }
  return sum;
}

// The sum in 63 digits.
Number NumberOfSum(RowSum sum) {
  Number number = ConstantOf(31, 0, 0);
  uint below = 0;
  if ((sum.top.x | sum.top.y | sum.high.x | sum.high.y) == 0) {
    sum.top = sum.low;
    sum.high = sum.lowest;
    sum.low = uint2(0, 0);
    sum.lowest = uint2(0, 0);
    number.exponent -= 128;
  }
  if ((sum.top.x | sum.top.y) == 0) {
    sum.top = sum.high;
    sum.high = sum.low;
    sum.low = sum.lowest;
    sum.lowest = uint2(0, 0);
    number.exponent -= 64;
  }
  below = sum.high.x | sum.low.x | sum.low.y | sum.lowest.x | sum.lowest.y;
  uint next = sum.high.y;
  if (sum.top.y == 0) {
    sum.top = uint2(next, sum.top.x);
    next = sum.high.x;
    below = sum.low.x | sum.low.y | sum.lowest.x | sum.lowest.y;
    number.exponent -= 32;
  }
  const bool is_zero = (sum.top.x | sum.top.y) == 0;
  const uint distance = 31 - firstbithigh(sum.top.y | (is_zero ? 1 : 0));
  const uint rest = next << distance | below;
  number.mantissa = uint2(sum.top.x << distance | next >> 1 >> (31 - distance),
                          sum.top.y << distance | sum.top.x >> 1 >> (31 - distance));
  number.mantissa.x |= rest != 0 ? 1 : 0;
  number.exponent -= int(distance);
  // The first digit in bit 62, where that of others is before sums.
  number.mantissa = ShiftedRightToOdd(number.mantissa, 1);
  if (is_zero) number.exponent = -FAR_EXPONENT;
  return number;
}

// Aligned, as sums of nothing have no exponent of zero else.
Number DifferenceFrom(uint x, uint maximum) {
  return Aligned(Difference(NumberOf(x), NumberOf(maximum)));
}

// e^d of a difference that is not positive: of nothing exactly 1, of minus infinity nothing.
Number PowerOf(Number difference) {
  Number power = Exponential(difference);
  if (IsZero(difference)) power = One();
  if (IsInfinite(difference)) power = Zero();
  return power;
}

// A row without a finite maximum has no sum.
bool HasSum(uint maximum) { return (maximum & ~SIGN_BIT) < INFINITY_BITS; }

// How far results may be off, in units of the 63rd digit: 2^-62 to 2^-63 of themselves. Powers are
// right to 2^-60 of themselves but for what their difference has lost, |d| * 2^-62. The mean of |d|,
// by the shares that powers have in S, is at most ln(2^30), so that S is right to 2^-57.2 of itself.
//
// Of SOFTMAX no result is left where |d| is above 104. A difference whose lowest bit is not set has
// lost nothing.
uint DoubtOfSoftmax(Number difference) { return (difference.mantissa.x & 1) != 0 ? 512 : 128; }

// ln S is off by what S is, 2^-57.2, and little more, where S is 5/4 or above. Where it is below,
// S - 1 is a sum of powers with |d| below 177, and right to 2^-54.4 of itself; less than 2^-126 it
// has fewer digits.
uint DoubtOfLogSoftmax(Number result, bool is_near_one, bool is_tiny) {
  const uint up = uint(min(max(-result.exponent, 0), 3));
  const uint down = uint(min(max(result.exponent, 0), 31));
  const uint doubt = 16 + (32u << up >> down);
  return is_tiny ? 1u << 24 : is_near_one ? 512 : doubt;
}

uint DecidedSoftmax(uint x, uint maximum, RowSum sum) {
  const Number difference = DifferenceFrom(x, maximum);
  const Number power = PowerOf(difference);
  Number total = NumberOfSum(sum);
  if (!HasSum(maximum)) total = One();
  Number result = LongQuotient(power, total);
  result.is_nan = !HasSum(maximum);
  return Decided(result, DoubtOfSoftmax(difference));
}

// d - ln S. Near 1, ln S is 2 * artanh((S - 1) / (S + 1)).
uint DecidedLogSoftmax(uint x, uint maximum, RowSum sum) {
  const bool is_near_one = sum.top.y == 1 && sum.top.x < 0x40000000;
  RowSum fraction = sum;
  fraction.top.y = 0;
  const Number rest = NumberOfSum(fraction);
  Number total = NumberOfSum(sum);
  if (!HasSum(maximum)) total = One();
  const Number ratio = LongQuotient(rest, Sum(Scaled(One(), 1), rest));
  // Aligned, so that a sum has room.
  const Number logarithm =
      Scaled(Aligned(LogarithmOr(total, is_near_one, ratio)), is_near_one ? 1 : 0);
  const Number difference = DifferenceFrom(x, maximum);
  Number result = Aligned(Sum(difference, Negative(logarithm)));
  result.sign = IsZero(result) ? 0 : 1;
  result.is_nan = !HasSum(maximum);
  const bool is_tiny = IsZero(difference) && rest.exponent < -126;
  const uint2 distance = uint2(DoubtOfLogSoftmax(result, is_near_one, is_tiny), 0);
  // The difference is often exactly the middle of two elements, and the result beyond it, however
  // little.
  uint2 least =
      ShiftedRightToOdd(difference.mantissa, uint(max(result.exponent - difference.exponent, 0)));
  least.x |= 1;
  const uint2 lower = WideDifference(result.mantissa, distance);
  Number below = result;
  below.mantissa = IsWideLess(lower, least) ? least : lower;
  Number above = result;
  above.mantissa = WideSum(result.mantissa, distance);
  if (IsZero(result)) {
    below = result;
    above = result;
  }
  const uint nearest = Rounded(below);
  is_open = is_open || nearest != Rounded(above);
  return nearest;
}

#endif
