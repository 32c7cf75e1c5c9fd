#define LANE_BITS 16
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 10
#define EXPONENT_TYPE (number_types.x >> 8 & 0xff)
#define kMode 0

// (bodies)

// (arithmetic)

// (typed numbers)

// (elementary)

// (open)

// (power)
uint DecidedPower(

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint open_mark;
  uint4 p;
  uint4 p_high;
  uint2 number_types;
};
ByteAddressBuffer Input0 : register(t0);
ByteAddressBuffer Input1 : register(t1);
RWByteAddressBuffer Output : register(u0);
RWByteAddressBuffer Open : register(u1);

Number Number1(uint place) {
  const uint type = number_types.x >> 8 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input1.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

uint Element(uint x, Number e) { return (DecidedPower(x, e, EXPONENT_TYPE)); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint x0 = Input0.Load(block * 4);
    uint word = 0;
    [loop]
    for (uint i = 0; i < 2; ++i) {
      word |= (Element(Uint16(x0.x, i * 16), Number1(block * 2 + i)) & 65535) << i * 16;
    }
    Output.Store(block * 4, word);
  }
  if (is_open) Open.Store(0, open_mark);
}
