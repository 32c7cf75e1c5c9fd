#define LANE_BITS 16
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
RWByteAddressBuffer Output : register(u0);

uint Element(uint x) { return (Clipped(x, p[0], p[1])); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint4 x0 = Input0.Load4(block * 16);
    Output.Store4(block * 16, uint4(
        Pack16(Element(Int16(x0.x, 0)),
          Element(Int16(x0.x, 16))),
        Pack16(Element(Int16(x0.y, 0)),
          Element(Int16(x0.y, 16))),
        Pack16(Element(Int16(x0.z, 0)),
          Element(Int16(x0.z, 16))),
        Pack16(Element(Int16(x0.w, 0)),
          Element(Int16(x0.w, 16)))));
  }
}
