#define LANE_BITS 8
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
RWByteAddressBuffer Output : register(u0);

uint Element(uint x) { return (OnesOf(x)); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint x0 = Input0.Load(block * 4);
    Output.Store4(block * 16, uint4(
        Element(Uint8(x0.x, 0)),
        Element(Uint8(x0.x, 8)),
        Element(Uint8(x0.x, 16)),
        Element(Uint8(x0.x, 24))));
  }
}
