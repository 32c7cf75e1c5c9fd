
// ------------------------------------------------------------------ Elementary functions
//
// Part of the kernels of elementary functions and activations only. Results have 60 correct digits
// or more before their one rounding, which is enough for every FLOAT32 and FLOAT16 there is. What
// is between 0 and 1 and needs no exponent is a fraction: a word of 64 bits in units of 2^-64.

#ifdef MANTISSA_BITS

// The high word of 64 bits of x * y; up to 2 too small.
uint2 HighProduct(uint2 x, uint2 y) {
  const uint2 left = WideProduct(x.x, y.y);
  const uint2 right = WideProduct(x.y, y.x);
  const uint2 low = WideSum(uint2(left.x, 0), uint2(right.x, 0));
  const uint2 middle = WideSum(uint2(left.y, 0), uint2(right.y, 0));
  return WideSum(WideProduct(x.y, y.y), WideSum(middle, uint2(low.y, 0)));
}

// The same with its first digit in bit 62, where that of others is before sums.
Number Aligned(Number x) {
  x = Normalized(x);
  x.mantissa = ShiftedRightToOdd(x.mantissa, 1);
  x.exponent = IsZero(x) ? -FAR_EXPONENT : x.exponent + 1;
  return x;
}

// mantissa * 2^(exponent - 62).
Number ConstantOf(int exponent, uint high, uint low) {
  Number number;
  number.is_nan = false;
  number.sign = 0;
  number.exponent = exponent;
  number.mantissa = uint2(low, high);
  return number;
}

Number One() { return NumberOfFloat(0x3f800000); }

// x * 2^count.
Number Scaled(Number x, int count) {
  x.exponent += count;
  return x;
}

Number Magnitude(Number x) {
  x.sign = 0;
  return x;
}

// Twice a fraction that is not below 1/2.
Number Twice(uint2 x) {
  Number number = One();
  number.mantissa = uint2(x.x >> 1 | x.y << 31 | 1, x.y >> 1);
  return number;
}

// The fraction of a number below 1.
uint2 FractionOf(Number x) {
  return ShiftedRightToOdd(uint2(x.mantissa.x << 1, x.mantissa.y << 1 | x.mantissa.x >> 31),
                           uint(-1 - x.exponent));
}

// Of numbers with all their digits, in 61 or more.
Number LongProduct(Number x, Number y) {
  x = Normalized(x);
  y = Normalized(y);
  Number product = x;
  product.is_nan = x.is_nan || y.is_nan;
  product.sign = x.sign ^ y.sign;
  product.exponent = x.exponent + y.exponent + 2;
  product.mantissa = HighProduct(x.mantissa, y.mantissa);
  return Aligned(product);
}

// The same of quotients, in 62 digits or more, one by one; y is not zero.
Number LongQuotient(Number x, Number y) {
  x = Aligned(x);
  y = Aligned(y);
  uint2 rest = x.mantissa;
  uint2 digits = 0;
  [loop]
  for (uint i = 0; i < 63; ++i) {
    const bool is_one = !IsWideLess(rest, y.mantissa);
    rest = is_one ? WideDifference(rest, y.mantissa) : rest;
    rest = uint2(rest.x << 1, rest.y << 1 | rest.x >> 31);
    digits = uint2(digits.x << 1 | (is_one ? 1 : 0), digits.y << 1 | digits.x >> 31);
  }
  Number quotient = x;
  quotient.is_nan = x.is_nan || y.is_nan;
  quotient.sign = x.sign ^ y.sign;
  quotient.exponent = IsZero(x) ? -FAR_EXPONENT : x.exponent - y.exponent;
  quotient.mantissa = uint2(digits.x | ((rest.x | rest.y) != 0 ? 1 : 0), digits.y);
  return quotient;
}

// The root of what is not negative, in 62 digits, one by one, each of two digits of the radicand.
Number LongRoot(Number x) {
  x = Aligned(x);
  const bool is_odd = (uint(x.exponent) & 1) != 0;
  uint2 radicand = is_odd ? WideSum(x.mantissa, x.mantissa) : x.mantissa;
  uint2 root = 0;
  uint2 rest = 0;
  [loop]
  for (uint i = 0; i < 62; ++i) {
    rest = uint2(rest.x << 2 | radicand.y >> 30, rest.y << 2 | rest.x >> 30);
    radicand = uint2(radicand.x << 2, radicand.y << 2 | radicand.x >> 30);
    root = uint2(root.x << 1, root.y << 1 | root.x >> 31);
    const uint2 step = uint2(root.x << 1 | 1, root.y << 1 | root.x >> 31);
    const bool is_one = !IsWideLess(rest, step);
    rest = is_one ? WideDifference(rest, step) : rest;
    root.x |= is_one ? 1 : 0;
  }
  x.exponent >>= 1;
  x.mantissa = uint2(root.x << 1 | ((rest.x | rest.y) != 0 ? 1 : 0), root.y << 1 | root.x >> 31);
  return x;
}

// ------------------------------------------------------------------ Exponential functions

// 1 / 2n!, of the greatest n first.
static const uint2 kHalfInverseFactorials[21] = {
    uint2(0x00000003, 0x00000000), uint2(0x0000004b, 0x00000000), uint2(0x000005a0, 0x00000000),
    uint2(0x0000654b, 0x00000000), uint2(0x0006b9fc, 0x00000000), uint2(0x006b9fcf, 0x00000000),
    uint2(0x064e5d2a, 0x00000000), uint2(0x5849184e, 0x00000000), uint2(0x7bb63bfe, 0x00000004),
    uint2(0xcc8acfea, 0x00000035), uint2(0xc9f6ef13, 0x0000024f), uint2(0xe3a556c7, 0x0000171d),
    uint2(0x00d00d00, 0x0000d00d), uint2(0x06806806, 0x00068068), uint2(0x2d82d82d, 0x002d82d8),
    uint2(0x11111111, 0x01111111), uint2(0x55555555, 0x05555555), uint2(0x55555555, 0x15555555),
    uint2(0x00000000, 0x40000000), uint2(0x00000000, 0x80000000), uint2(0x00000000, 0x80000000)};

// e^x / 2 of a fraction; without the last term (e^x - 1) / 2x.
uint2 HalfExponential(uint2 x, uint terms) {
  uint2 sum = 0;
  [loop]
  for (uint i = 0; i < terms; ++i) sum = WideSum(HighProduct(sum, x), kHalfInverseFactorials[i]);
  return sum;
}

// e^x = 2^n * e^(f * log(2)), n and f the integer and the fraction of x * log2(e). Beyond +-512 the
// result is none of these but so great, or so small, that no factor an element can be makes an
// element of it.
Number Exponential(Number x) {
  x = Aligned(x);
  const int exponent = min(x.exponent, 9);
  // Digits behind the point and before it.
  const uint up = uint(max(exponent + 2, 0));
  const uint2 upper = uint2(x.mantissa.x << up, x.mantissa.y << up | x.mantissa.x >> 1 >> (31 - up));
  const uint2 behind = exponent < -2 ? ShiftedRightToOdd(x.mantissa, uint(-2 - exponent)) : upper;
  const uint before = exponent < 0 ? 0 : x.mantissa.y >> (30 - max(exponent, 0));
  // log2(e) is one and 96 digits more.
  const uint2 product = HighProduct(behind, uint2(0xb82fe177, 0x71547652));
  const uint2 low = WideProduct(before, 0x7d0ffda0);
  const uint2 middle = WideSum(WideProduct(before, 0xb82fe177), uint2(low.y, 0));
  const uint2 high = WideSum(WideProduct(before, 0x71547652), uint2(middle.y, 0));
  const uint2 first = WideSum(behind, product);
  const uint2 sum = WideSum(first, uint2(middle.x, high.x));
  const uint carries = (IsWideLess(first, behind) ? 1 : 0) + (IsWideLess(sum, first) ? 1 : 0);
  // -(n + f) is -n - 1 + (1 - f).
  const uint turned = x.sign != 0 ? 0xffffffff : 0;
  const int whole = int((before + high.y + carries) ^ turned);
  const uint2 fraction = uint2(sum.x ^ turned, sum.y ^ turned);
  Number power = Twice(HalfExponential(HighProduct(fraction, uint2(0xd1cf79ab, 0xb17217f7)), 21));
  power.is_nan = x.is_nan;
  power.exponent = whole;
  return power;
}

// e^x - 1 of what is not negative.
Number ExponentialMinusOne(Number x) {
  Number result = Difference(Exponential(x), One());
  if (x.exponent < 0) result = LongProduct(Twice(HalfExponential(FractionOf(x), 20)), x);
  return Aligned(result);
}

// (e^x - 1) / (e^x + 1) of what is not negative.
Number HalfTangent(Number x) {
  const Number power = ExponentialMinusOne(x);
  return LongQuotient(power, Sum(power, Scaled(One(), 1)));
}

uint Exp(uint x) { return Rounded(Exponential(NumberOf(x))); }

uint Sinh(uint x) {
  const Number number = NumberOf(x);
  const Number power = ExponentialMinusOne(Magnitude(number));
  Number result = Scaled(Sum(power, LongQuotient(power, Sum(power, One()))), -1);
  result.sign = number.sign;
  return Rounded(result);
}

uint Cosh(uint x) {
  const Number power = Exponential(Magnitude(NumberOf(x)));
  return Rounded(Scaled(Sum(power, LongQuotient(One(), power)), -1));
}

uint Tanh(uint x) {
  const Number number = NumberOf(x);
  Number result = HalfTangent(Scaled(Magnitude(number), 1));
  result.sign = number.sign;
  return Rounded(result);
}

// Near 1/2 as the sum of that and of what is less than x / 4 by far fewer digits than a quotient
// has: where x / 4 is in the middle of two elements, that decides.
uint Sigmoid(uint x) {
  const Number number = NumberOf(x);
  const Number magnitude = Magnitude(number);
  Number tangent = HalfTangent(magnitude);
  tangent.sign = number.sign;
  const Number power = Exponential(magnitude);
  Number dividend = power;
  if (number.sign != 0) dividend = One();
  const Number quotient = LongQuotient(dividend, Sum(power, One()));
  Number result = Scaled(Sum(One(), tangent), -1);
  if (number.exponent >= 0) result = quotient;
  return Rounded(result);
}

// ------------------------------------------------------------------ Error function

// 1 - erf(c), c in quarters. Not erf(c) itself, of which a word looks like a signalling NaN: tables
// get to drivers as floats, and NVIDIA's makes such NaNs quiet.
static const uint2 kErrorComplement[17] = {
    uint2(0x00000000, 0x00000000), uint2(0x34a7ddbf, 0xb942ac77), uint2(0x38916ea1, 0x7ac0851f),
    uint2(0x178d049d, 0x49f1b453), uint2(0xf7bba9c9, 0x2844c2c5), uint2(0xaa0ffbfa, 0x13bcd133),
    uint2(0x64290271, 0x08ad5547), uint2(0x39549675, 0x03697c40), uint2(0xc350e669, 0x01328f5e),
    uint2(0xe7325e0f, 0x005fdc4f), uint2(0x9b20ac9e, 0x001aab85), uint2(0xdd6134cb, 0x00069827),
    uint2(0xf6503423, 0x0001729d), uint2(0x4c0d543c, 0x00004830), uint2(0x954d0c6c, 0x00000c77),
    uint2(0x7470e4f4, 0x000001e8), uint2(0x37744ef5, 0x00000042)};

// e^(-c^2) / sqrt(pi), half of the slope of erf at c.
static const uint2 kHalfSlope[17] = {
    uint2(0x14db688d, 0x906eba82), uint2(0x7bf206c2, 0x87ae8b01), uint2(0x6940454c, 0x707bf292),
    uint2(0xe34b1274, 0x524b90b5), uint2(0xdf784b7c, 0x35223e12), uint2(0xdcb6b1f8, 0x1e4652fa),
    uint2(0x5c12546e, 0x0f391b93), uint2(0xc884055d, 0x06c154c0), uint2(0x19f343c7, 0x02a5373d),
    uint2(0x4eff4b27, 0x00ea0a1d), uint2(0xc3efdbee, 0x004760c5), uint2(0xcd23db3a, 0x0013360c),
    uint2(0xa6e8cca0, 0x00049023), uint2(0xf4680674, 0x0000f4da), uint2(0x2e433528, 0x00002d4b),
    uint2(0xdc78bfdf, 0x00000764), uint2(0xb1488aeb, 0x00000110)};

// A fraction as a number.
Number NumberOfFraction(uint2 x) { return Scaled(Twice(x), -1); }

// x * y of a fraction y and an x with the sign of its highest bit.
uint2 SignedProduct(uint2 x, uint2 y) {
  const bool is_negative = x.y >> 31 != 0;
  const uint2 product = HighProduct(is_negative ? WideDifference(0, x) : x, y);
  return is_negative ? WideDifference(0, product) : product;
}

// (erf(c + h) - erf(c)) / (slope * h) = sum over n of H(n, c) * (-h)^n / (n + 1)!, halved, in units
// of 2^-62. H(n, c) * |h|^n are Hermite polynomials: H(n + 1) = 2 * c * |h| * H(n) - 2 * n * h^2 *
// H(n - 1). c * 2 * |h| and |h| are fractions.
uint2 HalfErrorSeries(uint2 twice_c_h, uint2 h, bool is_h_negative) {
  const uint2 square = HighProduct(h, h);
  uint2 before = 0;
  uint2 polynomial = uint2(0, 0x40000000);
  uint2 sum = 0;
  [loop]
  for (uint n = 0; n < 20; ++n) {
    const uint2 term = SignedProduct(polynomial, kHalfInverseFactorials[19 - n]);
    const bool is_subtracted = !is_h_negative && (n & 1) != 0;
    sum = is_subtracted ? WideDifference(sum, term) : WideSum(sum, term);
    const uint2 low = WideProduct(square.x, 2 * n);
    const uint2 factor = uint2(low.x, low.y + square.y * 2 * n);
    const uint2 next =
        WideDifference(SignedProduct(polynomial, twice_c_h), SignedProduct(before, factor));
    before = polynomial;
    polynomial = next;
  }
  return sum;
}

// From 4 on nothing is between the result and 1.
uint Erf(uint x) {
  const Number number = NumberOf(x);
  Number magnitude = Magnitude(number);
  if (magnitude.exponent >= 2) magnitude = Scaled(One(), 2);
  // In units of 2^-60, and the nearest quarter.
  const uint2 place = ShiftedRightToOdd(magnitude.mantissa, uint(2 - magnitude.exponent));
  const uint quarter = WideSum(place, uint2(0xffffffff, 0x01ffffff)).y >> 26;
  const uint2 center = uint2(0, quarter << 26);
  const bool is_below = IsWideLess(place, center);
  const uint2 distance = is_below ? WideDifference(center, place) : WideDifference(place, center);
  const uint2 h = uint2(distance.x << 4, distance.y << 4 | distance.x >> 28);
  const uint2 low = WideProduct(distance.x, quarter);
  const uint2 product = uint2(low.x, low.y + distance.y * quarter);
  const uint2 twice_c_h = uint2(product.x << 3, product.y << 3 | product.x >> 29);
  Number series = ConstantOf(1, 0, 0);
  series.mantissa = HalfErrorSeries(twice_c_h, h, is_below);
  Number step = ConstantOf(2, distance.y, distance.x);
  step.sign = is_below ? 1 : 0;
  if (quarter == 0) step = magnitude;
  const Number slope = Scaled(NumberOfFraction(kHalfSlope[quarter]), 1);
  Number center_value = NumberOfFraction(WideDifference(0, kErrorComplement[quarter]));
  if (quarter == 0) center_value = ConstantOf(-FAR_EXPONENT, 0, 0);
  Number result = Sum(center_value, LongProduct(LongProduct(slope, step), series));
  result.sign = number.sign;
  result.is_nan = number.is_nan;
  return Rounded(result);
}

// ------------------------------------------------------------------ Series of odd powers

// 1 / (4n + 2), of the greatest n first.
static const uint2 kHalfInverseOddNumbers[15] = {
    uint2(0x469ee584, 0x0469ee58), uint2(0x684bda12, 0x04bda12f), uint2(0xeb851eb8, 0x051eb851),
    uint2(0x42c8590b, 0x0590b216), uint2(0x18618618, 0x06186186), uint2(0x286bca1a, 0x06bca1af),
    uint2(0x87878787, 0x07878787), uint2(0x88888888, 0x08888888), uint2(0xd89d89d8, 0x09d89d89),
    uint2(0x2e8ba2e8, 0x0ba2e8ba), uint2(0x38e38e38, 0x0e38e38e), uint2(0x49249249, 0x12492492),
    uint2(0x99999999, 0x19999999), uint2(0xaaaaaaaa, 0x2aaaaaaa), uint2(0x00000000, 0x80000000)};

// artanh(x), or where is_alternating arctan(x), of magnitudes up to 1/4.
Number SmallArtanh(Number x, bool is_alternating) {
  x = Aligned(x);
  const uint2 fraction = FractionOf(Magnitude(x));
  const uint2 square = HighProduct(fraction, fraction);
  uint2 sum = 0;
  [loop]
  for (uint i = 0; i < 15; ++i) {
    const uint2 product = HighProduct(sum, square);
    const uint2 term = kHalfInverseOddNumbers[i];
    sum = is_alternating ? WideDifference(term, product) : WideSum(term, product);
  }
  return LongProduct(x, Twice(sum));
}

// ------------------------------------------------------------------ Logarithms

// log(m * 2^n) = n * log(2) + 2 * artanh((m - 1) / (m + 1)), m near 1; of what is positive and
// finite. Where the result is small it is artanh(ratio).
Number LogarithmOr(Number x, bool is_small, Number ratio) {
  x = Aligned(x);
  Number mantissa = x;
  // The high word of the square root of 2.
  const bool is_above = x.mantissa.y > 0x5a827999;
  mantissa.exponent = is_above ? -1 : 0;
  const int exponent = is_small ? 0 : x.exponent + (is_above ? 1 : 0);
  Number quotient = LongQuotient(Difference(mantissa, One()), Sum(mantissa, One()));
  if (is_small) quotient = ratio;
  const uint count = uint(abs(exponent));
  Number digits = ConstantOf(31, count >> 1, count << 31);
  digits.sign = exponent < 0 ? 1 : 0;
  const Number log2 = ConstantOf(-1, 0x58b90bfb, 0xe8e7bcd5);
  return Sum(LongProduct(log2, digits), Scaled(SmallArtanh(quotient, false), is_small ? 0 : 1));
}

bool IsSmall(Number x) { return Aligned(x).exponent < -2; }

uint Log(uint x) {
  const Number number = NumberOf(x);
  const uint result = Rounded(LogarithmOr(number, false, number));
  const bool is_invalid = number.is_nan || (number.sign != 0 && !IsZero(number));
  return is_invalid           ? QUIET_NAN_BITS
         : IsZero(number)     ? SIGN_BIT | INFINITY_BITS
         : IsInfinite(number) ? INFINITY_BITS
                              : result;
}

uint Artanh(uint x) {
  const Number number = NumberOf(x);
  const Number magnitude = Magnitude(number);
  const Number power = LongQuotient(Sum(One(), magnitude), Difference(One(), magnitude));
  const bool is_small = IsSmall(magnitude);
  Number result = Scaled(LogarithmOr(power, is_small, magnitude), is_small ? 0 : -1);
  result.sign = number.sign;
  const uint rounded = Rounded(result);
  const uint bits = x & ~SIGN_BIT;
  return bits > ONE_BITS    ? QUIET_NAN_BITS
         : bits == ONE_BITS ? (x & SIGN_BIT) | INFINITY_BITS
                            : rounded;
}

// log(x + root), root of x^2 + 1 or of x^2 - 1; the two are the cosine and the sine of the result.
uint Arsinh(uint x) {
  const Number number = NumberOf(x);
  const Number sine = Magnitude(number);
  const Number cosine = LongRoot(Sum(Product(sine, sine), One()));
  const Number tangent = LongQuotient(sine, cosine);
  Number result = LogarithmOr(Sum(cosine, sine), IsSmall(tangent), tangent);
  result.sign = number.sign;
  const uint rounded = Rounded(result);
  return IsInfinite(number) || number.is_nan ? Quiet(x) : rounded;
}

uint Arcosh(uint x) {
  const Number cosine = NumberOf(x);
  const Number sine = LongRoot(Difference(Product(cosine, cosine), One()));
  const Number tangent = LongQuotient(sine, cosine);
  const uint rounded = Rounded(LogarithmOr(Sum(cosine, sine), IsSmall(tangent), tangent));
  return !IsLessOrEqual(ONE_BITS, x) ? QUIET_NAN_BITS : IsInfinite(cosine) ? x : rounded;
}

// ------------------------------------------------------------------ Angles

// The angle of the point (x, y), both not negative: of the nearest of five directions, and of what
// is left when the point is turned back by that.
Number Angle(Number y, Number x) {
  const Number twice_y = Scaled(y, 1);
  const Number twice_x = Scaled(x, 1);
  Number turned_y = y;
  Number turned_x = x;
  Number angle = ConstantOf(-FAR_EXPONENT, 0, 0);
  // From 1/4 on: arctan(1/2).
  if (!IsPositive(Difference(x, Scaled(y, 2)))) {
    turned_y = Difference(twice_y, x);
    turned_x = Sum(twice_x, y);
    angle = ConstantOf(-2, 0x76b19c15, 0x86ed3da2);
  }
  // From 3/4 on: pi / 4.
  if (!IsPositive(Difference(Sum(twice_x, x), Scaled(y, 2)))) {
    turned_y = Difference(y, x);
    turned_x = Sum(x, y);
    angle = ConstantOf(-1, 0x6487ed51, 0x10b4611a);
  }
  // From 3/2 on: arctan(2).
  if (!IsPositive(Difference(Sum(twice_x, x), twice_y))) {
    turned_y = Difference(y, twice_x);
    turned_x = Sum(x, twice_y);
    angle = ConstantOf(0, 0x46db864b, 0xaef911b1);
  }
  // From 4 on: pi / 2.
  if (!IsPositive(Difference(Scaled(x, 2), y))) {
    turned_y = Negative(x);
    turned_x = y;
    angle = ConstantOf(0, 0x6487ed51, 0x10b4611a);
  }
  return Sum(angle, SmallArtanh(LongQuotient(turned_y, turned_x), true));
}

uint Arctan(uint x) {
  const Number number = NumberOf(x);
  Number result = Angle(Magnitude(number), One());
  result.sign = number.sign;
  result.is_nan = number.is_nan;
  return Rounded(result);
}

// The other side of a triangle with a right angle, a hypotenuse of 1 and the side x.
Number OtherSide(Number x) { return LongRoot(Difference(One(), Product(x, x))); }

uint Arcsin(uint x) {
  const Number number = NumberOf(x);
  Number result = Angle(Magnitude(number), OtherSide(number));
  result.sign = number.sign;
  const uint rounded = Rounded(result);
  return (x & ~SIGN_BIT) > ONE_BITS ? QUIET_NAN_BITS : rounded;
}

uint Arccos(uint x) {
  const Number number = NumberOf(x);
  Number result = Angle(OtherSide(number), Magnitude(number));
  if (number.sign != 0) result = Difference(ConstantOf(1, 0x6487ed51, 0x10b4611a), result);
  const uint rounded = Rounded(result);
  return (x & ~SIGN_BIT) > ONE_BITS ? QUIET_NAN_BITS : rounded;
}

// ------------------------------------------------------------------ Functions of angles

// 2 / pi in units of 2^-256, high word first, and a word of zeros before it.
static const uint kTwoOverPi[9] = {
    0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
    0x3c439041, 0xfe5163ab, 0xdebbc561};

// x less the nearest multiple of pi / 2, of which `quadrant` is the number.
struct ReducedAngle {
  uint quadrant;
  Number rest;
};

// The fraction of x * 2 / pi, from those digits of 2 / pi that count. The digits before them make
// whole turns.
ReducedAngle Reduced(Number x) {
  const uint first = uint(max(x.exponent - 23, 0)) & 127;
  const uint shift = first & 31;
  const uint digits = x.mantissa.y >> 7;
  // What is left of the product, low word first: four words of fraction and one whole word.
  uint words[5];
  uint carry = 0;
  {
    [loop]
    for (uint i = 0; i < 5; ++i) {
      const uint at = first / 32 + 4 - i;
      const uint low = at < 8 ? kTwoOverPi[at + 1] : 0;
      const uint window = kTwoOverPi[at] << shift | low >> 1 >> (31 - shift);
      const uint2 product = WideSum(WideProduct(digits, window), uint2(carry, 0));
      words[i] = product.x;
      carry = product.y;
    }
  }
  // Operands below 2^23 have fewer digits before the point.
  const uint down = uint(max(23 - x.exponent, 0)) & 31;
  {
    [loop]
    for (uint i = 0; i < 4; ++i) words[i] = words[i] >> down | words[i + 1] << 1 << (31 - down);
  }
  const uint whole = words[4] >> down;
  const bool is_nearer_next = words[3] >> 31 != 0;
  const uint turned = is_nearer_next ? 0xffffffff : 0;
  const uint2 fraction = uint2(words[2] ^ turned, words[3] ^ turned);
  // The nearest that any FLOAT32 comes to a multiple needs the third word.
  const uint third = words[1] ^ turned;
  const bool is_low = fraction.y == 0;
  const uint2 upper = is_low ? uint2(third, fraction.x) : fraction;
  const uint next = is_low ? 0 : third;
  const uint distance = 31 - firstbithigh(upper.y | (upper.y == 0 ? 1 : 0));
  Number rest = x;
  rest.sign = x.sign ^ (is_nearer_next ? 1 : 0);
  rest.exponent = (is_low ? -34 : -2) - int(distance);
  rest.mantissa = uint2(upper.x << distance | next >> 1 >> (31 - distance),
                        upper.y << distance | upper.x >> 1 >> (31 - distance));
  const uint number = whole + (is_nearer_next ? 1 : 0);
  ReducedAngle angle;
  angle.quadrant = (x.sign != 0 ? 0 - number : number) & 3;
  angle.rest = LongProduct(rest, ConstantOf(0, 0x6487ed51, 0x10b4611a));
  if (x.exponent < -1) {
    angle.quadrant = 0;
    angle.rest = x;
  }
  return angle;
}

// The sine, or the cosine, of an angle up to pi / 4.
Number SmallSine(Number x, bool is_cosine) {
  const uint2 fraction = FractionOf(Magnitude(x));
  const uint2 square = HighProduct(fraction, fraction);
  uint2 sum = 0;
  [loop]
  for (uint i = is_cosine ? 0 : 1; i < 21; i += 2) {
    sum = WideDifference(kHalfInverseFactorials[i], HighProduct(sum, square));
  }
  Number result = Twice(sum);
  if (!is_cosine) result = LongProduct(x, result);
  return result;
}

// The sine of an angle and `quadrants` right angles.
uint SineOf(uint x, uint quadrants) {
  const Number number = NumberOf(x);
  const ReducedAngle angle = Reduced(number);
  const uint quadrant = angle.quadrant + quadrants;
  Number result = SmallSine(angle.rest, (quadrant & 1) != 0);
  result.sign ^= quadrant >> 1 & 1;
  result.is_nan = number.is_nan || IsInfinite(number);
  return Rounded(result);
}

uint Sin(uint x) { return SineOf(x, 0); }

uint Cos(uint x) { return SineOf(x, 1); }

uint Tan(uint x) {
  const Number number = NumberOf(x);
  const ReducedAngle angle = Reduced(number);
  const bool is_turned = (angle.quadrant & 1) != 0;
  const Number sine = SmallSine(angle.rest, is_turned);
  Number result = LongQuotient(sine, SmallSine(angle.rest, !is_turned));
  if (is_turned) result.sign ^= 1;
  result.is_nan = number.is_nan || IsInfinite(number);
  return Rounded(result);
}

#endif
