// ------------------------------------------------------------------ Rows
//
// Part of the kernels of rows only, behind their bindings. A call is several dispatches of one
// kernel, its stages; docs/adr/0048-rows-on-gpus.md tells why. First the largest element of each
// row is found: a thread takes up to kRowPartLength (server/d3d12/row_stages.h) elements and leaves a record of them; threads
// of the next stage take as many records, until there is one for each row. Where there are sums,
// the same again for these. In the last stage a thread computes elements of the result, as in
// other strided kernels. Records lie behind the result, and no stage writes what it reads.

#define STAGE_LARGEST 0
#define STAGE_SUMS 1
#define STAGE_RESULTS 2

// Where the records are that a stage reads, where it reads elements. Places are in words.
#define NO_RECORDS 0xffffffff

#define LARGEST_WORDS 2
#define SUM_WORDS 8

// The largest element of some, by its rank among all that there can be, and the first place where
// it is.
struct Largest {
  uint rank;
  uint place;
};

#define NAN_RANK 0xffffffff

// A greater number has a greater rank, and both zeros have one. HARDMAX takes a NaN that is the
// first element, and none behind it; a sum has no value where there is one.
uint RankOf(uint x, uint place) {
  const uint rank = uint(Rank(x)) ^ 0x80000000;
  const uint of_nan = ROW_HAS_SUMS || place == 0 ? NAN_RANK : 0;
  return IsNan(x) ? of_nan : rank;
}

Largest LargerOf(Largest x, Largest y) {
  const bool is_y = y.rank > x.rank || (y.rank == x.rank && y.place < x.place);
  Largest larger;
  larger.rank = is_y ? y.rank : x.rank;
  larger.place = is_y ? y.place : x.place;
  return larger;
}

Largest LargestAt(uint at) {
  Largest largest;
  largest.rank = Output[at];
  largest.place = Output[at + 1];
  return largest;
}

Largest LargestOf(uint row) { return LargestAt(largest_at + row * LARGEST_WORDS); }

// The element at a place of a row. The plan has behind the strides of each loop the size and the
// stride of a loop in the order of rows.
uint ElementOfRow(uint row, uint place) {
  uint offset = 0;
  uint rest = place;
  [loop]
  for (uint i = loop_count; i > 0; --i) {
    if (i == first_row_loop) rest = row;
    const uint2 nest = Plan.Load2(i * 32 - 12);
    const uint outer = rest / nest.x;
    offset += (rest - outer * nest.x) * nest.y;
    rest = outer;
  }
#if LANE_BITS == 16
  return Uint16(Input0.Load(offset * 2 & ~3u), (offset * 2 & 3) * 8);
#else
  return Input0.Load(offset * 4);
#endif
}

// Threads take parts of rows: of `input_count` elements or records every part has those that lie
// `part_count` apart, so that neighbouring threads read neighbours. All in one loop, as Mesa's
// drivers lose results in loops of loops of loops.
void FindLargest(uint thread) {
  uint block = thread;
  uint place = block % part_count;
  Largest largest;
  largest.rank = 0;
  largest.place = 0xffffffff;
  [loop]
  while (block < block_count) {
    const uint row = block / part_count;
    Largest next;
    if (inputs_at == NO_RECORDS) {
      next.place = place;
      next.rank = RankOf(ElementOfRow(row, place), place);
    } else {
      next = LargestAt(inputs_at + (row * input_count + place) * LARGEST_WORDS);
    }
    largest = LargerOf(largest, next);
    place += part_count;
    if (place >= input_count) {
      Output[records_at + block * LARGEST_WORDS] = largest.rank;
      Output[records_at + block * LARGEST_WORDS + 1] = largest.place;
      largest.rank = 0;
      largest.place = 0xffffffff;
      block += thread_count;
      place = block % part_count;
    }
  }
}

// 1 for the first of the largest elements of the row.
uint Hardmax(uint row, uint place) {
  return LargestOf(row).place == place ? EXPONENT_BIAS << MANTISSA_BITS : 0;
}

#if ROW_HAS_SUMS

uint MaximumOf(uint row) {
  const uint rank = LargestOf(row).rank;
  const int value = int(rank ^ 0x80000000);
  const uint bits = value < 0 ? SIGN_BIT | uint(-value) : uint(value);
  return rank == NAN_RANK ? QUIET_NAN_BITS : bits;
}

RowSum SumAt(uint at) {
  RowSum sum;
  sum.lowest = uint2(Output[at], Output[at + 1]);
  sum.low = uint2(Output[at + 2], Output[at + 3]);
  sum.high = uint2(Output[at + 4], Output[at + 5]);
  sum.top = uint2(Output[at + 6], Output[at + 7]);
  return sum;
}

RowSum SumOf(uint row) { return SumAt(sums_at + row * SUM_WORDS); }

// As FindLargest. A power is computed where there is none, too: its loops are within no condition.
void FindSums(uint thread) {
  uint block = thread;
  uint place = block % part_count;
  RowSum sum = EmptySum();
  [loop]
  while (block < block_count) {
    const uint row = block / part_count;
    const Number difference = DifferenceFrom(ElementOfRow(row, place), MaximumOf(row));
    RowSum next = SumOfPower(PowerOf(difference));
    if (inputs_at != NO_RECORDS) next = SumAt(inputs_at + (row * input_count + place) * SUM_WORDS);
    sum = SumOfSums(sum, next);
    place += part_count;
    if (place >= input_count) {
      const uint at = records_at + block * SUM_WORDS;
      Output[at] = sum.lowest.x;
      Output[at + 1] = sum.lowest.y;
      Output[at + 2] = sum.low.x;
      Output[at + 3] = sum.low.y;
      Output[at + 4] = sum.high.x;
      Output[at + 5] = sum.high.y;
      Output[at + 6] = sum.top.x;
      Output[at + 7] = sum.top.y;
      sum = EmptySum();
      block += thread_count;
      place = block % part_count;
    }
  }
}

#endif

