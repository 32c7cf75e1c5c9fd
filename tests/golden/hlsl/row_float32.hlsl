#define LANE_BITS 32
#define LANE_IS_SIGNED 0
#define MANTISSA_BITS 23
#define ROW_HAS_SUMS 0
#define kMode 0

// (bodies)

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

// (rows)

uint Element(uint x, uint row, uint place) { return (Hardmax(row, place)); }

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
    value = Element(Input0.Load(offset.x * 4),
                    offset.y,
                    offset.z);
  }
  return value;
}

[numthreads(256, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) {
  if (stage == STAGE_LARGEST) FindLargest(id.x);
  if (stage == STAGE_RESULTS) {
  for (uint block = id.x; block < block_count; block += thread_count) {
    Output[block] = Slot(block);
  }
  }
}
