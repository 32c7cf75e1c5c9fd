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

groupshared uint shared_x[256];
[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, uint thread : SV_GroupIndex) {
  for (uint first = (id.x - thread) * 4; first < block_count; first += 4 * thread_count) {
    uint block = first + thread;
    if (first + 1023 < block_count) {
    GroupMemoryBarrierWithGroupSync();
      shared_x[thread + 0] = Input0.Load(first * 1 + (thread + 0) * 4);
    const uint block1 = block + 256;
    const uint block2 = block + 512;
    const uint block3 = block + 768;
    GroupMemoryBarrierWithGroupSync();
    const uint x0 = shared_x[(thread + 0) * 1 / 4] >> (block * 1 & 3) * 8;
    const uint x0_1 = shared_x[(thread + 256) * 1 / 4] >> (block1 * 1 & 3) * 8;
    const uint x0_2 = shared_x[(thread + 512) * 1 / 4] >> (block2 * 1 & 3) * 8;
    const uint x0_3 = shared_x[(thread + 768) * 1 / 4] >> (block3 * 1 & 3) * 8;
    Output.Store(block * 4, Element(Uint8(x0.x, 0)));
    Output.Store(block1 * 4, Element(Uint8(x0_1.x, 0)));
    Output.Store(block2 * 4, Element(Uint8(x0_2.x, 0)));
    Output.Store(block3 * 4, Element(Uint8(x0_3.x, 0)));
    } else {
    for (; block < block_count; block += 256) {
    const uint x0 = Input0.Load(block * 1 & ~3u) >> (block * 1 & 3) * 8;
    Output.Store(block * 4, Element(Uint8(x0.x, 0)));
    }
    }
  }
}
