// File: kernels/tensor_bytes.h
//
// Where the bytes of a tensor are: in one piece, or in several that follow one another, as a
// network delivers them; or on a device, until somebody asks for them.

#ifndef OPSERVE_KERNELS_TENSOR_BYTES_H_
#define OPSERVE_KERNELS_TENSOR_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

namespace opserve {

// Names bytes that never change: no other bytes ever have the same id. So a device may keep a copy
// of them, and need not look at them again.
using ContentId = uint64_t;
// The id of bytes without a name, which may be others the next time.
inline constexpr ContentId kNoContent = 0;

// Thrown where bytes are asked for that a device alone had and has no more, and that cannot be
// computed again. Says which device, for whoever asked.
class ContentLost final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class TensorBytes;

// Bytes that are on a device, and in the host's memory once somebody asks for them. Thread-safe.
class UnreadBytes {
 public:
  // What they are, or the first of them. May become another one with Fetch, as computing them once
  // more may make other NaNs of them.
  virtual ContentId content() const = 0;

  // Brings them to the host's memory, in one piece, where they stay as long as this object lives.
  // Waits for the device, or computes them. Throws std::bad_alloc, and ContentLost.
  virtual TensorBytes Fetch() = 0;

 protected:
  ~UnreadBytes() = default;
};

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

  // To be fetched before anything but their content is asked for.
  explicit TensorBytes(UnreadBytes& unread) : unread_(&unread) {}

  bool is_absent() const { return data_ == nullptr && pieces_.empty() && unread_ == nullptr; }
  bool is_unread() const { return unread_ != nullptr; }
  // The same bytes in the host's memory: see UnreadBytes::Fetch.
  TensorBytes Fetched() const { return unread_ == nullptr ? *this : unread_->Fetch(); }
  // nullptr unless they are in one piece.
  const std::byte* data() const { return data_; }
  // Empty unless there are several.
  std::span<const std::span<const std::byte>> pieces() const { return pieces_; }
  // What they are the first bytes of, or all of; kNoContent where they have no name.
  ContentId content() const { return unread_ == nullptr ? content_ : unread_->content(); }

  // Calls `visit(from, length)` for each piece of the first `bytes` bytes, in their order, of a
  // tensor that is not absent.
  template <class Visit>
  void EachPiece(uint64_t bytes, Visit visit) const {
    if (data_ != nullptr) {
      visit(data_, bytes);
      return;
    }
    for (const std::span<const std::byte> piece : pieces_) {
      const size_t part = piece.size() < bytes ? piece.size() : bytes;
      visit(piece.data(), part);
      bytes -= part;
    }
  }

  // Copies the first `bytes` bytes, of a tensor that is not absent.
  void CopyTo(std::byte* target, uint64_t bytes) const {
    EachPiece(bytes, [&target](const std::byte* from, uint64_t length) {
      std::memcpy(target, from, length);
      target += length;
    });
  }

 private:
  const std::byte* data_ = nullptr;
  std::span<const std::span<const std::byte>> pieces_;
  ContentId content_ = kNoContent;
  UnreadBytes* unread_ = nullptr;
};

}  // namespace opserve

#endif  // OPSERVE_KERNELS_TENSOR_BYTES_H_
