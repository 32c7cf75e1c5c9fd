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
  uint block = id.x;
  for (; block + 1 * thread_count < block_count; block += 2 * thread_count) {
    const uint block1 = block + thread_count;
    const uint2 x0 = Input0.Load2(block * 8);
    const uint2 x0_1 = Input0.Load2(block1 * 8);
    Output.Store2(block * 8, Element(uint2(x0.x, x0.y)));
    Output.Store2(block1 * 8, Element(uint2(x0_1.x, x0_1.y)));
  }
  for (; block < block_count; block += thread_count) {
    const uint2 x0 = Input0.Load2(block * 8);
    Output.Store2(block * 8, Element(uint2(x0.x, x0.y)));
  }
}
