#define LANE_BITS 8
#define LANE_IS_SIGNED 1
#define kMode 0

// (bodies)

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint4 p;
};
ByteAddressBuffer Input0 : register(t0);
ByteAddressBuffer Input1 : register(t1);
ByteAddressBuffer Plan : register(t3);
RWByteAddressBuffer Output : register(u0);

uint Element(uint x, uint y) { return (ModulusTruncate(x, y)); }

uint Slot(uint rest) {
  bool is_gap = false;
  uint3 offset = 0;
  for (uint i = 0; i < loop_count; ++i) {
    const uint4 nest = Plan.Load4(i * 32);
    const uint index = rest / nest.y;
    rest -= index * nest.y;
    is_gap = is_gap || index >= nest.x;
    offset += index * uint3(nest.zw, Plan.Load(i * 32 + 16));
  }
  uint value = 0;
  if (!is_gap && rest == 0) {
    value = Element(Int8(Input0.Load(offset.x * 1 & ~3u), (offset.x * 1 & 3) * 8),
                    Int8(Input1.Load(offset.y * 1 & ~3u), (offset.y * 1 & 3) * 8));
  }
  return value;
}

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    Output.Store(block * 4, Pack8(Slot(block * 4 + 0),
          Slot(block * 4 + 1),
          Slot(block * 4 + 2),
          Slot(block * 4 + 3)));
  }
}
