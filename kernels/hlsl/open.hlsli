
// ------------------------------------------------------------------ Functions of several numbers
//
// Part of the kernels that may leave elements open. Nobody can try all pairs of numbers, so that no
// number of digits is known to be enough for all results: a kernel looks whether its digits decide.
// Where they do not, it leaves the element open, and the call is somebody else's.

// Whether this thread has left an element open.
static bool is_open = false;

#ifdef MANTISSA_BITS

// The nearest element, where it is the same for all that differ from x by `doubt` units of the
// 63rd digit.
uint Decided(Number x, uint doubt) {
  const Number from = Aligned(x);
  const uint2 distance = uint2(IsZero(from) ? 0 : doubt, 0);
  Number below = from;
  below.mantissa = WideDifference(from.mantissa, distance);
  Number above = from;
  above.mantissa = WideSum(from.mantissa, distance);
  const uint nearest = Rounded(below);
  is_open = is_open || nearest != Rounded(above);
  return nearest;
}

// The same of results that are off by less than 2^-55 of themselves.
uint Decided(Number x) { return Decided(x, 128); }

Number Zero() { return ConstantOf(-FAR_EXPONENT, 0, 0); }

// Of any two numbers.
Number ProductOfAny(Number x, Number y) {
  Number product = LongProduct(x, y);
  product.is_nan = product.is_nan || (IsInfinite(x) && IsZero(y)) || (IsZero(x) && IsInfinite(y));
  return product;
}

// Of any two numbers, of which y is not zero where x is.
Number QuotientOfAny(Number x, Number y) {
  Number quotient = LongQuotient(x, y);
  quotient.is_nan = quotient.is_nan || (IsInfinite(x) && IsInfinite(y));
  return quotient;
}

// e^x - 1, where it is negative from what it is where it is positive. No loop is within a condition,
// as one is in ExponentialMinusOne: Mesa's software adapter loses elements in some kernels then.
Number Growth(Number x) {
  const Number magnitude = Magnitude(x);
  const Number series =
      LongProduct(Twice(HalfExponential(FractionOf(magnitude), 20)), magnitude);
  Number growth = Aligned(Difference(Exponential(magnitude), One()));
  if (magnitude.exponent < 0) growth = series;
  Number result = LongQuotient(growth, Sum(growth, One()));
  result.sign = 1;
  if (x.sign == 0) result = growth;
  return result;
}

// gamma * (x >= 0 ? x : alpha * (e^x - 1))
Number Elu(uint x, uint alpha, uint gamma) {
  const Number number = NumberOf(x);
  const Number scale = NumberOfFloat(gamma);
  Number result = ProductOfAny(Product(NumberOfFloat(alpha), scale), Growth(number));
  if (!IsLess(x, 0)) result = Product(number, scale);
  return result;
}

// max(0, x) + min(0, alpha * (e^(x / alpha) - 1)), whose second term is 0 for some alpha.
Number Celu(uint x, uint alpha) {
  const Number number = NumberOf(x);
  const Number scale = NumberOfFloat(alpha);
  const bool is_usual = !scale.is_nan && !IsInfinite(scale) && !IsZero(scale);
  Number result = LongProduct(scale, Growth(LongQuotient(number, scale)));
  if (!IsLess(x, 0) || !is_usual) result = Zero();
  if (IsPositive(number)) result = number;
  return result;
}

Number ScaledTanh(uint x, uint alpha, uint beta) {
  const Number product = Product(NumberOf(x), NumberOfFloat(beta));
  Number tangent = HalfTangent(Scaled(Magnitude(product), 1));
  tangent.sign = product.sign;
  return ProductOfAny(NumberOfFloat(alpha), tangent);
}

// ln(1 + e^x) = max(x, 0) + ln(1 + p), p = e^-|x|, and ln(1 + p) = 2 * artanh(p / (2 + p)).
Number SoftplusNumber(Number x) {
  Number negative = x;
  negative.sign = 1;
  const Number power = Exponential(negative);
  const bool is_small = power.exponent < -2;
  const Number ratio = LongQuotient(power, Sum(Scaled(One(), 1), power));
  const Number logarithm =
      Scaled(LogarithmOr(Sum(One(), power), is_small, ratio), is_small ? 1 : 0);
  Number result = logarithm;
  if (x.sign == 0) result = Sum(x, logarithm);
  if (x.sign != 0 && IsInfinite(x)) result = Zero();
  result.is_nan = x.is_nan;
  return result;
}

Number Softplus(uint x, uint steepness) {
  const Number scale = NumberOfFloat(steepness);
  return QuotientOfAny(SoftplusNumber(Product(NumberOf(x), scale)), scale);
}

Number ParametricSoftplus(uint x, uint alpha, uint beta) {
  return ProductOfAny(NumberOfFloat(alpha),
                      SoftplusNumber(Product(NumberOf(x), NumberOfFloat(beta))));
}

// x / (1 + e^(-scale * x)), at infinity its limit.
Number Swish(uint x, uint scale) {
  const Number number = NumberOf(x);
  const Number factor = NumberOfFloat(scale);
  const Number product = Product(number, factor);
  Number result = LongQuotient(number, Sum(One(), Exponential(Negative(product))));
  result.is_nan = product.is_nan;
  if (IsInfinite(number) && product.sign != 0) {
    result = Zero();
    result.sign = number.sign;
    result.is_nan = product.is_nan || IsInfinite(factor);
  }
  return result;
}

// The angle of the point (x, y), with C's meaning of zeros and infinities.
Number ArctanYx(uint y, uint x) {
  const Number above = NumberOf(y);
  const Number aside = NumberOf(x);
  const bool is_diagonal = IsInfinite(above) && IsInfinite(aside);
  Number side = Magnitude(aside);
  Number height = Magnitude(above);
  if (is_diagonal || IsZero(above)) side = One();
  if (is_diagonal) height = One();
  Number angle = Angle(height, side);
  if (aside.sign != 0) angle = Difference(ConstantOf(1, 0x6487ed51, 0x10b4611a), angle);
  angle.sign = above.sign;
  angle.is_nan = above.is_nan || aside.is_nan;
  return angle;
}

#endif
