#define LANE_BITS 16
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 10
#define kMode 0

// (bodies)

// (arithmetic)

// (elementary)

// (open)

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint open_mark;
  uint4 p;
};
ByteAddressBuffer Input0 : register(t0);
RWByteAddressBuffer Output : register(u0);
RWByteAddressBuffer Open : register(u1);

uint Element(uint x) { return (Decided(Elu(x, p[0], 0x3f800000))); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    const uint x0 = Input0.Load(block * 4);
    uint word = 0;
    [loop]
    for (uint i = 0; i < 2; ++i) {
      word |= (Element(Uint16(x0.x, i * 16)) & 65535) << i * 16;
    }
    Output.Store(block * 4, word);
  }
  if (is_open) Open.Store(0, open_mark);
}
