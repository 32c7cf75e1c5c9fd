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
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint c0 = Input0.Load(block * 2 & ~3u) >> (block * 2 & 3) * 8;
    const uint4 x0 = Input1.Load4(block * 16);
    const uint4 y0 = Input2.Load4(block * 16);
    Output.Store4(block * 16, uint4(
        Element(Uint8(c0.x, 0) != 0, uint2(x0.x, x0.y), uint2(y0.x, y0.y)),
        Element(Uint8(c0.x, 8) != 0, uint2(x0.z, x0.w), uint2(y0.z, y0.w))));
  }
}
