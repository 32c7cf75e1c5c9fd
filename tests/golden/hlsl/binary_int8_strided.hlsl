#define LANE_BITS 8
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
  uint word = 0;
  for (uint slot = id.x * 4; slot < block_count * 4; ++slot) {
    word = word >> 8 | Slot(slot) << 24;
    if (slot % 4 == 3) {
      Output.Store(slot / 4 * 4, word);
      slot += (thread_count - 1) * 4;
    }
  }
}
