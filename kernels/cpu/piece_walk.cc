#include "kernels/cpu/piece_walk.h"

#include <algorithm>
#include <cstring>

namespace opserve::cpu {
namespace {

constexpr size_t kWidestElement = 8;

}  // namespace

// A place in an input, which moves forward.
class PieceWalk::Cursor {
 public:
  Cursor() = default;
  Cursor(const Input& input, uint64_t offset) : input_(&input) {
    const auto next = std::upper_bound(input.starts.begin(), input.starts.end(), offset);
    piece_ = static_cast<size_t>(next - input.starts.begin()) - 1;
    at_ = offset - input.starts[piece_];
  }

  // Whole elements from here on that lie in one piece; 0 where this one is divided.
  uint64_t ElementsInPiece() {
    while (at_ == piece().size()) NextPiece();
    return (piece().size() - at_) / input_->element_size;
  }

  const std::byte* data() const { return piece().data() + at_; }

  // Moves behind the next `bytes` bytes, which lie in one piece.
  void Skip(size_t bytes) { at_ += bytes; }

  // Calls visit(part, offset) for the parts of the next `bytes` bytes and moves behind them.
  template <class Visit>
  void Take(size_t bytes, const Visit& visit) {
    for (size_t done = 0; done < bytes;) {
      if (at_ == piece().size()) NextPiece();
      const size_t count = std::min(bytes - done, piece().size() - at_);
      visit(piece().subspan(at_, count), done);
      at_ += count;
      done += count;
    }
  }

 private:
  Piece piece() const { return input_->pieces[piece_]; }
  void NextPiece() {
    ++piece_;
    at_ = 0;
  }

  const Input* input_ = nullptr;
  size_t piece_ = 0;
  size_t at_ = 0;  // in the piece
};

PieceWalk::PieceWalk(const BoundKernel& kernel, StoreMode store_mode,
                     std::span<const TensorBytes> inputs, std::span<const size_t> element_sizes,
                     uint64_t element_count)
    : kernel_(kernel), store_mode_(store_mode), input_count_(inputs.size()) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorBytes& bytes = inputs[i];
    if (bytes.is_absent()) continue;
    Input& input = inputs_[i];
    input.element_size = element_sizes[i];
    if (bytes.data() != nullptr) {
      input.pieces = {Piece(bytes.data(), element_count * input.element_size)};
    } else {
      input.pieces.assign(bytes.pieces().begin(), bytes.pieces().end());
    }
    input.starts.reserve(input.pieces.size());
    uint64_t start = 0;
    for (const Piece& piece : input.pieces) {
      input.starts.push_back(start);
      start += piece.size();
    }
  }
}

PieceWalk::PieceWalk(const BoundKernel& kernel, StoreMode store_mode,
                     std::span<const TensorBytes> inputs, std::span<const size_t> element_sizes,
                     uint64_t element_count, std::byte* output)
    : PieceWalk(kernel, store_mode, inputs, element_sizes, element_count) {
  output_ = output;
  output_element_size_ = element_sizes[inputs.size()];
}

PieceWalk::PieceWalk(const BoundKernel& kernel, std::span<const TensorBytes> inputs,
                     std::span<const size_t> element_sizes, uint64_t element_count, size_t target)
    : PieceWalk(kernel, StoreMode::kInPlace, inputs, element_sizes, element_count) {
  target_ = target;
}

void PieceWalk::Run(uint64_t begin, uint64_t end) const {
  std::array<Cursor, kMaxInputs> cursors;
  for (size_t i = 0; i < input_count_; ++i) {
    const Input& input = inputs_[i];
    if (input.element_size > 0) cursors[i] = Cursor(input, begin * input.element_size);
  }
  for (uint64_t at = begin; at < end;) {
    uint64_t count = end - at;
    for (size_t i = 0; i < input_count_; ++i) {
      if (inputs_[i].element_size > 0) count = std::min(count, cursors[i].ElementsInPiece());
    }
    if (count == 0) {
      RunDivided(cursors, at++);
      continue;
    }
    std::array<const std::byte*, kMaxInputs> inputs = {};
    for (size_t i = 0; i < input_count_; ++i) {
      if (inputs_[i].element_size == 0) continue;
      inputs[i] = cursors[i].data();
      cursors[i].Skip(count * inputs_[i].element_size);
    }
    kernel_.Run(inputs.data(), OutputAt(at, inputs), count, store_mode_);
    at += count;
  }
}

std::byte* PieceWalk::OutputAt(uint64_t at,
                               const std::array<const std::byte*, kMaxInputs>& inputs) const {
  if (output_ != nullptr) return output_ + at * output_element_size_;
  return const_cast<std::byte*>(inputs[target_]);
}

// An element of which at least one input lies in several pieces.
void PieceWalk::RunDivided(std::array<Cursor, kMaxInputs>& cursors, uint64_t at) const {
  std::byte elements[kMaxInputs][kWidestElement];
  std::array<const std::byte*, kMaxInputs> inputs = {};
  Cursor target = cursors[target_];
  for (size_t i = 0; i < input_count_; ++i) {
    if (inputs_[i].element_size == 0) continue;
    inputs[i] = elements[i];
    cursors[i].Take(inputs_[i].element_size, [&](Piece part, size_t offset) {
      std::memcpy(elements[i] + offset, part.data(), part.size());
    });
  }
  std::byte* const result = OutputAt(at, inputs);
  kernel_.Run(inputs.data(), result, 1, store_mode_);
  if (output_ != nullptr) return;
  target.Take(inputs_[target_].element_size, [&](Piece part, size_t offset) {
    std::memcpy(const_cast<std::byte*>(part.data()), result + offset, part.size());
  });
}

}  // namespace opserve::cpu
