#define LANE_BITS 64
#define LANE_IS_SIGNED 0
#define kMode 0

// (bodies)

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint open_mark;
  uint4 p;
};
ByteAddressBuffer Input0 : register(t0);
ByteAddressBuffer Input1 : register(t1);
ByteAddressBuffer Input2 : register(t2);
RWByteAddressBuffer Output : register(u0);

uint2 Element(bool c, uint2 x, uint2 y) { return (c ? x : y); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  uint block = id.x;
  for (; block + 1 * thread_count < block_count; block += 2 * thread_count) {
    const uint block1 = block + thread_count;
    const uint c0 = Input0.Load(block * 1 & ~3u) >> (block * 1 & 3) * 8;
    const uint2 x0 = Input1.Load2(block * 8);
    const uint2 y0 = Input2.Load2(block * 8);
    const uint c0_1 = Input0.Load(block1 * 1 & ~3u) >> (block1 * 1 & 3) * 8;
    const uint2 x0_1 = Input1.Load2(block1 * 8);
    const uint2 y0_1 = Input2.Load2(block1 * 8);
    Output.Store2(block * 8, Element(Uint8(c0.x, 0) != 0, uint2(x0.x, x0.y), uint2(y0.x, y0.y)));
    Output.Store2(block1 * 8, Element(Uint8(c0_1.x, 0) != 0, uint2(x0_1.x, x0_1.y), uint2(y0_1.x, y0_1.y)));
  }
  for (; block < block_count; block += thread_count) {
    const uint c0 = Input0.Load(block * 1 & ~3u) >> (block * 1 & 3) * 8;
    const uint2 x0 = Input1.Load2(block * 8);
    const uint2 y0 = Input2.Load2(block * 8);
    Output.Store2(block * 8, Element(Uint8(c0.x, 0) != 0, uint2(x0.x, x0.y), uint2(y0.x, y0.y)));
  }
}
