#define LANE_BITS 64
#define LANE_IS_SIGNED 1
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
RWByteAddressBuffer Output : register(u0);

uint Element(uint2 x, uint2 y) { return (IsEqual(x, y)) ? 1 : 0; }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint4 x0 = Input0.Load4(block * 32);
    const uint4 x1 = Input0.Load4(block * 32 + 16);
    const uint4 y0 = Input1.Load4(block * 32);
    const uint4 y1 = Input1.Load4(block * 32 + 16);
    Output.Store(block * 4, Pack8(Element(uint2(x0.x, x0.y), uint2(y0.x, y0.y)),
          Element(uint2(x0.z, x0.w), uint2(y0.z, y0.w)),
          Element(uint2(x1.x, x1.y), uint2(y1.x, y1.y)),
          Element(uint2(x1.z, x1.w), uint2(y1.z, y1.w))));
  }
}
