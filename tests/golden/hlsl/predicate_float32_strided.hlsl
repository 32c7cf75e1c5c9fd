#define LANE_BITS 32
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 23
#define kMode 1

// (bodies)

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint4 p;
};
ByteAddressBuffer Input0 : register(t0);
ByteAddressBuffer Plan : register(t3);
RWByteAddressBuffer Output : register(u0);

uint Element(uint x) { return (IsInfinity(kMode, x)) ? 1 : 0; }

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
    value = Element(Input0.Load(offset.x * 4));
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
