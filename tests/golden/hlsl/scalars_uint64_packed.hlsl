#define LANE_BITS 64
#define LANE_IS_SIGNED 0
#define SCALAR(i) uint2(p[i], p_high[i])
#define kMode 0

// (bodies)

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint open_mark;
  uint4 p;
  uint4 p_high;
};
ByteAddressBuffer Input0 : register(t0);
RWByteAddressBuffer Output : register(u0);

uint2 Element(uint2 x) { return (GreaterOf(SCALAR(1), LesserOf(x, SCALAR(2)))); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint4 x0 = Input0.Load4(block * 16);
    Output.Store4(block * 16, uint4(
        Element(uint2(x0.x, x0.y)),
        Element(uint2(x0.z, x0.w))));
  }
}
