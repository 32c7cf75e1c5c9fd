#include "kernels/cpu/row_walk.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cpu/strided_copy.h"

namespace opserve::cpu {
namespace {

constexpr int kInput = 0;
constexpr int kOutput = 1;

// Bytes of short rows in a buffer: two of them fit in a first-level cache.
constexpr uint64_t kBufferBytes = 8192;

// The copy of neighbouring rows from a tensor to packed elements.
CopyNest CopyOf(const Plan& plan, int tensor, uint64_t rows, size_t element_size) {
  CopyNest nest;
  uint64_t packed_stride = element_size;
  const auto add = [&](uint64_t count, uint64_t stride) {
    nest.loops[nest.loop_count++] = {count, stride * element_size, packed_stride};
    packed_stride *= count;
  };
  for (int l = plan.loop_count - 1; l >= *plan.row_begin; --l) {
    add(plan.sizes[l], plan.strides[tensor][l]);
  }
  if (rows > 1) add(rows, plan.strides[tensor][*plan.row_begin - 1]);
  return nest;
}

// Puts the loop along which the tensor is densest innermost, so that each cache line of it is
// touched at once. Runs of one value or of neighbours stay as they are.
void GoInAddressOrder(CopyNest& nest, size_t element_size) {
  if (nest.loops[0].from_stride <= element_size) return;
  CopyLoop* densest = &nest.loops[0];
  for (int i = 1; i < nest.loop_count; ++i) {
    CopyLoop& loop = nest.loops[i];
    if (loop.from_stride != 0 && loop.from_stride < densest->from_stride) densest = &loop;
  }
  std::swap(*densest, nest.loops[0]);
}

}  // namespace

// Rows that lie one after the other along the last loop between rows: how many, and where they
// start in each tensor, in bytes.
struct RowWalk::Rows {
  uint64_t count = 1;
  uint64_t input_offset = 0;
  uint64_t output_offset = 0;
};

RowWalk::RowWalk(const Plan& plan, RowKernel kernel, size_t element_size)
    : plan_(plan),
      kernel_(kernel),
      element_size_(element_size),
      row_count_(plan.row_count()),
      row_bytes_(plan.row_length() * element_size),
      input_is_packed_(plan.has_packed_rows(kInput)),
      output_is_packed_(plan.has_packed_rows(kOutput)),
      rows_at_once_(input_is_packed_ && output_is_packed_
                        ? UINT64_MAX
                        : std::max<uint64_t>(1, kBufferBytes / row_bytes_)) {}

uint64_t RowWalk::scratch_bytes() const {
  const uint64_t buffers = (input_is_packed_ ? 0 : 1) + (output_is_packed_ ? 0 : 1);
  return buffers == 0 ? 0 : buffers * rows_at_once_ * row_bytes_;
}

RowWalk::Rows RowWalk::RowsAt(uint64_t row, uint64_t end) const {
  Rows rows = {.count = 1};
  const uint64_t wanted = std::min(end - row, rows_at_once_);
  const int last = *plan_.row_begin - 1;
  for (int l = last; l >= 0; --l) {
    const uint64_t at = row % plan_.sizes[l];
    row /= plan_.sizes[l];
    if (l == last) rows.count = std::min(wanted, plan_.sizes[l] - at);
    rows.input_offset += at * plan_.strides[kInput][l] * element_size_;
    rows.output_offset += at * plan_.strides[kOutput][l] * element_size_;
  }
  return rows;
}

void RowWalk::Gather(const std::byte* from, std::byte* to, uint64_t rows) const {
  CopyNest nest = CopyOf(plan_, kInput, rows, element_size_);
  GoInAddressOrder(nest, element_size_);
  CopyStrided(nest, element_size_, from, to);
}

void RowWalk::Scatter(const std::byte* from, std::byte* to, uint64_t rows) const {
  CopyNest nest = CopyOf(plan_, kOutput, rows, element_size_);
  GoInAddressOrder(nest, element_size_);
  for (int i = 0; i < nest.loop_count; ++i) {
    std::swap(nest.loops[i].from_stride, nest.loops[i].to_stride);
  }
  CopyStrided(nest, element_size_, from, to);
}

void RowWalk::Run(const std::byte* input, std::byte* output, uint64_t begin, uint64_t end) const {
  const auto scratch = std::make_unique_for_overwrite<std::byte[]>(scratch_bytes());
  std::byte* const packed_input = scratch.get();
  std::byte* const packed_output =
      scratch.get() + (input_is_packed_ ? 0 : rows_at_once_ * row_bytes_);
  const size_t length = row_bytes_ / element_size_;
  const int last = *plan_.row_begin - 1;
  // Bytes from row to row where a tensor's rows are passed as they are.
  const uint64_t input_step = !input_is_packed_ ? row_bytes_
                              : last < 0        ? 0
                                                : plan_.strides[kInput][last] * element_size_;
  const uint64_t output_step = !output_is_packed_ ? row_bytes_
                               : last < 0         ? 0
                                                  : plan_.strides[kOutput][last] * element_size_;

  for (uint64_t row = begin; row < end;) {
    const Rows rows = RowsAt(row, end);
    const std::byte* x = input + rows.input_offset;
    if (!input_is_packed_) {
      Gather(x, packed_input, rows.count);
      x = packed_input;
    }
    std::byte* const first = output + rows.output_offset;
    std::byte* const y = output_is_packed_ ? first : packed_output;
    for (uint64_t r = 0; r < rows.count; ++r) {
      kernel_(x + r * input_step, y + r * output_step, length);
    }
    if (!output_is_packed_) Scatter(packed_output, first, rows.count);
    row += rows.count;
  }
}

}  // namespace opserve::cpu
