// File: server/d3d12/tensor_stretches.h
//
// Stretches of tensors that the host has, in one piece or in several. Internal to server/d3d12.

#ifndef OPSERVE_SERVER_D3D12_TENSOR_STRETCHES_H_
#define OPSERVE_SERVER_D3D12_TENSOR_STRETCHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "kernels/tensor_bytes.h"

namespace opserve::d3d12 {

// Keeps what the stretches that it returns point to, apart from the bytes of the tensors.
class TensorStretches {
 public:
  TensorStretches() = default;
  TensorStretches(const TensorStretches&) = delete;
  TensorStretches& operator=(const TensorStretches&) = delete;

  // The `bytes` bytes from `begin` on, which are in `tensor`; nothing of one that is absent.
  TensorBytes Of(const TensorBytes& tensor, uint64_t begin, uint64_t bytes) {
    if (tensor.is_absent()) return {};
    if (tensor.data() != nullptr) return tensor.data() + begin;
    std::vector<std::span<const std::byte>> stretch;
    for (std::span<const std::byte> piece : tensor.pieces()) {
      const uint64_t skipped = std::min<uint64_t>(begin, piece.size());
      begin -= skipped;
      piece = piece.subspan(skipped);
      piece = piece.first(std::min<uint64_t>(bytes, piece.size()));
      bytes -= piece.size();
      if (!piece.empty()) stretch.push_back(piece);
    }
    return TensorBytes(pieces_.emplace_back(std::move(stretch)));
  }

 private:
  std::deque<std::vector<std::span<const std::byte>>> pieces_;
};

}  // namespace opserve::d3d12

#endif  // OPSERVE_SERVER_D3D12_TENSOR_STRETCHES_H_
