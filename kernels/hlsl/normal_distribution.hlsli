
// ------------------------------------------------------------------ Normal distribution
//
// Part of the kernel of GELU only.

#ifdef MANTISSA_BITS

// Mills' ratio, the integral of e^((t^2 - s^2) / 2) from t on, for t up to 14.5: coefficients of its
// polynomial in z = 2 * t / (t + 4) - 0.78378.. in units of 2^-62, that of the highest power first.
static const uint2 kMillsRatio[24] = {
    uint2(0xa0843492, 0xffffffff), uint2(0x672f0104, 0xffffffff), uint2(0x4ea92c6b, 0x00000002),
    uint2(0xf4c0146e, 0x00000006), uint2(0x03aaa0e5, 0xfffffffd), uint2(0x7b84bb51, 0xffffffd4),
    uint2(0x09046439, 0xffffffce), uint2(0x8b97a2dd, 0x000000b7), uint2(0x3b48ef1c, 0x00000232),
    uint2(0x1a87880f, 0xfffffe39), uint2(0xd1241f37, 0xffffef7f), uint2(0x3da8f63b, 0xfffffca1),
    uint2(0xcae09db2, 0x0000747a), uint2(0x21becf0a, 0x00005291), uint2(0x911d31a7, 0xfffc64b9),
    uint2(0xef950eb5, 0xfffdf294), uint2(0x4962881f, 0x002326f3), uint2(0x45d345f5, 0xffe52593),
    uint2(0x042c5795, 0xfea5a9e2), uint2(0x121979d5, 0x0670e7ae), uint2(0xb409151e, 0xef91bb44),
    uint2(0x32f48e56, 0x1cf181df), uint2(0xac93bda9, 0xda34fbb0), uint2(0x19fcca6b, 0x161de589)};

uint2 MillsRatio(Number t) {
  const uint2 place = FractionOf(Aligned(LongQuotient(t, Sum(t, Scaled(One(), 2)))));
  const uint2 middle = uint2(0x3e45306e, 0x645306eb);
  const bool is_below = IsWideLess(place, middle);
  const uint2 half = is_below ? WideDifference(middle, place) : WideDifference(place, middle);
  const uint2 z = WideSum(half, half);
  uint2 sum = 0;
  [loop]
  for (uint i = 0; i < 24; ++i) {
    const uint2 product = SignedProduct(sum, z);
    sum = is_below ? WideDifference(kMillsRatio[i], product) : WideSum(kMillsRatio[i], product);
  }
  return sum;
}

// x * P(x), P the normal distribution function: with t = |x| that is x - t * P(-t), or -t * P(-t)
// for x below 0, where P(-t) = e^(-t^2 / 2) / sqrt(2 * pi) * MillsRatio(t). From 14.5 on nothing is
// between the result and x, or between it and 0. Where x is tiny, x / 2 may be in the middle of two
// elements: there it is the sum of that and x^2 / sqrt(2 * pi), which decides.
uint Gelu(uint x) {
  const Number number = NumberOf(x);
  Number magnitude = Magnitude(number);
  const bool is_far = magnitude.exponent > 3 ||
                      (magnitude.exponent == 3 && magnitude.mantissa.y > 0x74000000);
  if (is_far) magnitude = ConstantOf(3, 0x74000000, 0);
  const bool is_tiny = magnitude.exponent < -30;
  const uint2 ratio = MillsRatio(magnitude);
  Number factor = ConstantOf(0, ratio.y, ratio.x);
  if (is_tiny) factor = magnitude;
  Number exponent = Scaled(Product(magnitude, magnitude), -1);
  exponent.sign = 1;
  const Number density = LongProduct(Exponential(exponent), ConstantOf(-2, 0x662114cf, 0x50d94234));
  Number term = LongProduct(LongProduct(density, factor), magnitude);
  term.sign = is_tiny ? 0 : 1;
  Number first = number;
  if (number.sign != 0) first = ConstantOf(-FAR_EXPONENT, 0, 0);
  if (is_tiny) first = Scaled(number, -1);
  Number result = Sum(first, term);
  result.is_nan = number.is_nan;
  const uint rounded = Rounded(result);
  return IsZero(number) ? x : rounded;
}

#endif
