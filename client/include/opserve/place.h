// File: opserve/place.h
//
// Where tensors are that do not travel with calls: at the server, or in memory shared with it.
//
// Values; const members are safe to call from any thread.

#ifndef OPSERVE_PLACE_H_
#define OPSERVE_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"

namespace opserve {

// The address of the host that has the tensor, region or lease with this id; empty where the host
// tells none. Whoever takes ids from others goes where they say: only to hosts of its own target,
// and to those that its servers have named themselves.
inline absl::string_view HostOf(absl::string_view id) {
  const size_t separator = id.find('@');
  return separator == absl::string_view::npos ? absl::string_view() : id.substr(separator + 1);
}

// Names a tensor that the server keeps; see resident.h.
struct TensorHandle {
  std::string id;

  bool operator==(const TensorHandle&) const = default;
};

// A range of a region of shared memory. The region lives as long as any of its ranges; see
// shared_memory.h.
class RegionRange {
 public:
  // `size` bytes from byte `offset` on, of the region whose id is `id` and whose memory is
  // `memory`; that memory must be there as long as `id` is. SharedRegion::range makes them.
  RegionRange(std::shared_ptr<const std::string> id, std::span<std::byte> memory, uint64_t offset,
              uint64_t size)
      : id_(std::move(id)), offset_(offset), size_(size) {
    if (offset <= memory.size() && size <= memory.size() - offset) {
      bytes_ = memory.subspan(offset, size);
    }
  }

  // Id of the region.
  const std::string& id() const { return *id_; }
  // First byte.
  uint64_t offset() const { return offset_; }
  // Number of bytes.
  uint64_t size() const { return size_; }

  // The memory. Empty where the range exceeds the region; the server refuses such a range.
  std::span<std::byte> bytes() const { return bytes_; }

  // The same as elements. Empty also where the range is not aligned for them.
  template <class T>
  requires std::is_trivially_copyable_v<T> std::span<T> values()
  const {
    if (reinterpret_cast<uintptr_t>(bytes_.data()) % alignof(T) != 0) return {};
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

 private:
  std::shared_ptr<const std::string> id_;
  uint64_t offset_;
  uint64_t size_;
  std::span<std::byte> bytes_;
};

// Where a tensor is, or where a result goes.
using TensorPlace = std::variant<TensorHandle, RegionRange>;

}  // namespace opserve

#endif  // OPSERVE_PLACE_H_
