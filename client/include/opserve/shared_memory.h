// File: opserve/shared_memory.h
//
// Memory that a program shares with a server on its machine: tensors in it never travel.
//
//   auto region = client->CreateRegion(8192);
//   if (!region.ok()) return region.status();
//   const RegionRange x = region->range(0, 4000);
//   const RegionRange y = region->range(4096, 4000);
//   std::ranges::fill(x.values<float>(), 2.5f);
//   auto spec = client->ExecuteTo(ops::Round(TensorView::At(x, {DataType::kFloat32, {1000}}),
//                                            RoundingMode::kTowardZero),
//                                 y);
//   if (!spec.ok()) return spec.status();
//   for (float value : y.values<float>()) std::cout << value << '\n';

#ifndef OPSERVE_SHARED_MEMORY_H_
#define OPSERVE_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "opserve/place.h"

namespace opserve {

// A region of shared memory, made by Client::CreateRegion. Copies share it; it is mapped and
// registered as long as one of them, a range of it, or a call that uses one lives, also beyond its
// client. Const members are safe to call from any thread.
//
// While a call uses a range, nobody else should write to it, nor read where its result goes. All
// regions of a client end for the server when the connection to it is lost, such as by its
// restart: the memory stays, but calls that name it fail with NOT_FOUND and the reason
// REGION_NOT_FOUND. Create another region then.
class SharedRegion {
 public:
  // For Client::CreateRegion: `memory` is there as long as `id`.
  SharedRegion(std::shared_ptr<const std::string> id, std::span<std::byte> memory)
      : id_(std::move(id)), memory_(memory) {}

  // Its id at the server, for calls of the same user over a socket file, or of the same identity.
  const std::string& id() const { return *id_; }

  // The memory, aligned to 64 bytes and zero at first.
  std::span<std::byte> bytes() const { return memory_; }

  // `size` bytes from byte `offset` on, to be used as a place. A result has to go to a multiple of
  // 64.
  RegionRange range(uint64_t offset, uint64_t size) const { return {id_, memory_, offset, size}; }

 private:
  std::shared_ptr<const std::string> id_;
  std::span<std::byte> memory_;
};

}  // namespace opserve

#endif  // OPSERVE_SHARED_MEMORY_H_
