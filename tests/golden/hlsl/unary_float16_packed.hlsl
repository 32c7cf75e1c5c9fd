#define LANE_BITS 16
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 10
#define kMode 2

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

uint Element(uint x) { return (Round(kMode, x)); }

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  uint block = id.x;
  for (; block + 3 * thread_count < block_count; block += 4 * thread_count) {
    const uint block1 = block + thread_count;
    const uint block2 = block1 + thread_count;
    const uint block3 = block2 + thread_count;
    const uint x0 = Input0.Load(block * 4);
    const uint x0_1 = Input0.Load(block1 * 4);
    const uint x0_2 = Input0.Load(block2 * 4);
    const uint x0_3 = Input0.Load(block3 * 4);
    Output.Store(block * 4, Pack16(Element(Uint16(x0.x, 0)),
          Element(Uint16(x0.x, 16))));
    Output.Store(block1 * 4, Pack16(Element(Uint16(x0_1.x, 0)),
          Element(Uint16(x0_1.x, 16))));
    Output.Store(block2 * 4, Pack16(Element(Uint16(x0_2.x, 0)),
          Element(Uint16(x0_2.x, 16))));
    Output.Store(block3 * 4, Pack16(Element(Uint16(x0_3.x, 0)),
          Element(Uint16(x0_3.x, 16))));
  }
  for (; block < block_count; block += thread_count) {
    const uint x0 = Input0.Load(block * 4);
    Output.Store(block * 4, Pack16(Element(Uint16(x0.x, 0)),
          Element(Uint16(x0.x, 16))));
  }
}
