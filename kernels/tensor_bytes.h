// File: kernels/tensor_bytes.h
//
// Where the bytes of a tensor are: in one piece, or in several that follow one another, as a
// network delivers them.

#ifndef OPSERVE_KERNELS_TENSOR_BYTES_H_
#define OPSERVE_KERNELS_TENSOR_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace opserve {

// Names bytes that never change: no other bytes ever have the same id. So a device may keep a copy
// of them, and need not look at them again.
using ContentId = uint64_t;
// Of bytes without a name, which may be others the next time.
inline constexpr ContentId kNoContent = 0;

// A view that owns nothing; nothing at all where a tensor is absent. A value, cheap to copy.
class TensorBytes {
 public:
  TensorBytes() = default;
  // In one piece, of as many bytes as the tensor needs; nullptr: absent.
  TensorBytes(const std::byte* data) : data_(data) {}  // NOLINT(google-explicit-constructor)
  // The same, where they are the first bytes of `content`, or all of them.
  TensorBytes(const std::byte* data, ContentId content) : data_(data), content_(content) {}
  // In several pieces, together at least as many bytes as the tensor needs.
  explicit TensorBytes(std::span<const std::span<const std::byte>> pieces) : pieces_(pieces) {}

  bool is_absent() const { return data_ == nullptr && pieces_.empty(); }
  // nullptr unless they are in one piece.
  const std::byte* data() const { return data_; }
  // Empty unless there are several.
  std::span<const std::span<const std::byte>> pieces() const { return pieces_; }
  // What they are the first bytes of, or all of; kNoContent where they have no name.
  ContentId content() const { return content_; }

  // Copies the first `bytes` bytes, of a tensor that is not absent.
  void CopyTo(std::byte* target, uint64_t bytes) const {
    if (data_ != nullptr) {
      std::memcpy(target, data_, bytes);
      return;
    }
    for (const std::span<const std::byte> piece : pieces_) {
      const size_t part = piece.size() < bytes ? piece.size() : bytes;
      std::memcpy(target, piece.data(), part);
      target += part;
      bytes -= part;
    }
  }

 private:
  const std::byte* data_ = nullptr;
  std::span<const std::span<const std::byte>> pieces_;
  ContentId content_ = kNoContent;
};

}  // namespace opserve

#endif  // OPSERVE_KERNELS_TENSOR_BYTES_H_
