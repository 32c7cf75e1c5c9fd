#define LANE_BITS 32
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 23
#define kMode 0

// (bodies)

// (arithmetic)

// (typed numbers)

// (quantization)
uint Quantize(
uint Dequantize(
uint AddQuantized(

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
ByteAddressBuffer Input2 : register(t2);
RWByteAddressBuffer Output : register(u0);

Number Number0(uint place) {
  const uint type = number_types.x >> 0 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input0.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

Number Number1(uint place) {
  const uint type = number_types.x >> 8 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input1.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

Number Number2(uint place) {
  const uint type = number_types.x >> 16 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input2.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

uint Element(Number v, Number s, Number z) { return (Dequantize(v, s, z)); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    Output.Store(block * 4, Element(Number0(block), Number1(block), Number2(block)));
  }
}
