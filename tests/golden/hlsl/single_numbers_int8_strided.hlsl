#define LANE_BITS 8
#define LANE_IS_SIGNED 1
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
ByteAddressBuffer Input3 : register(t4);
ByteAddressBuffer Input4 : register(t5);
ByteAddressBuffer Input5 : register(t6);
ByteAddressBuffer Input6 : register(t7);
ByteAddressBuffer Input7 : register(t8);
ByteAddressBuffer Plan : register(t3);
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

Number Number3(uint place) {
  const uint type = number_types.x >> 24 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input3.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

Number Number4(uint place) {
  const uint type = number_types.y >> 0 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input4.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

Number Number5(uint place) {
  const uint type = number_types.y >> 8 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input5.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

Number Number6(uint place) {
  const uint type = number_types.y >> 16 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input6.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

Number Number7(uint place) {
  const uint type = number_types.y >> 24 & 0xff;
  const uint byte = place * BytesOf(type);
  return TypedNumber(Input7.Load(byte & ~3u) >> (byte & 3) * 8, type);
}

uint Element(Number a, Number s, Number z, Number b, Number t, Number w, Number r, Number u) { return (AddQuantized(a, s, z, b, t, w, r, u)); }

uint Slot(uint rest) {
  bool is_gap = false;
  uint3 offset = 0;
  for (uint i = 0; i < loop_count; ++i) {
    const uint4 nest = Plan.Load4(i * 32);
    const uint index = rest / nest.y;
    rest -= index * nest.y;
    is_gap = is_gap || index >= nest.x;
    offset += index * uint3(nest.zw, Plan.Load(i * 32 + 16));
  }
  uint value = 0;
  if (!is_gap && rest == 0) {
    value = Element(Number0(offset.x),
                    Number1(0),
                    Number2(0),
                    Number3(offset.y),
                    Number4(0),
                    Number5(0),
                    Number6(0),
                    Number7(0));
  }
  return value;
}

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  uint word = 0;
  for (uint slot = id.x * 4; slot < block_count * 4; ++slot) {
    word = word >> 8 | Slot(slot) << 24;
    if (slot % 4 == 3) {
      Output.Store(slot / 4 * 4, word);
      slot += (thread_count - 1) * 4;
    }
  }
}
