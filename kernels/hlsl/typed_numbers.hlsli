
// ------------------------------------------------------------------ Numbers of types of their own
//
// Part of the kernels of quantisation and of powers only. Some of their inputs are numbers of types
// of their own, which the call tells: each by a byte, that has the size of an element in its low
// three bits, a bit of 8 for signed integers, and one of 16 for floats. It is 0 where the input is
// absent.

uint BytesOf(uint type) { return type & 7; }

// The number of an element that begins with the word's lowest bit; 0 where there is none.
Number TypedNumber(uint word, uint type) {
  const uint bytes = BytesOf(type);
  const uint unused = (32 - bytes * 8) & 31;
  const uint bits = bytes == 0 ? 0 : word << unused;
  const bool is_negative = (type & 8) != 0 && bits >> 31 != 0;
  const uint magnitude = (is_negative ? 0 - bits : bits) >> unused;
  Number number = NumberOfBits(bits >> unused, bytes == 4 ? 8 : 5, bytes == 4 ? 23 : 10);
  if ((type & 16) == 0) {
    number.is_nan = false;
    number.sign = is_negative ? 1 : 0;
    number.exponent = magnitude == 0 ? -FAR_EXPONENT : 31;
    number.mantissa = uint2(magnitude << 31, magnitude >> 1);
  }
  return number;
}
