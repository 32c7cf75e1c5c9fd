#define LANE_BITS 16
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 10
#define ROW_HAS_SUMS 1
#define kMode 0

// (bodies)

// (arithmetic)

// (elementary)

// (open)

// (softmax)

cbuffer Constants : register(b0) {
  uint block_count;
  uint thread_count;
  uint loop_count;
  uint open_mark;
  uint stage;
  uint first_row_loop;
  uint input_count;
  uint part_count;
  uint inputs_at;
  uint records_at;
  uint largest_at;
  uint sums_at;
};
ByteAddressBuffer Input0 : register(t0);
ByteAddressBuffer Plan : register(t3);
RWStructuredBuffer<uint> Output : register(u0);
RWByteAddressBuffer Open : register(u1);

// (rows)

uint Element(uint x, uint row, uint place) { return (DecidedLogSoftmax(x, MaximumOf(row), SumOf(row))); }

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
    value = Element(Uint16(Input0.Load(offset.x * 2 & ~3u), (offset.x * 2 & 3) * 8),
                    offset.y,
                    offset.z);
  }
  return value;
}

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  if (stage == STAGE_LARGEST) FindLargest(id.x);
  if (stage == STAGE_SUMS) FindSums(id.x);
  if (stage == STAGE_RESULTS) {
  uint word = 0;
  for (uint slot = id.x * 2; slot < block_count * 2; ++slot) {
    word = word >> 16 | Slot(slot) << 16;
    if (slot % 2 == 1) {
      Output[slot / 2] = word;
      slot += (thread_count - 1) * 2;
    }
  }
  }
  if (is_open) Open.Store(0, open_mark);
}
