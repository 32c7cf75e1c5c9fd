// File: client/python/core/regions.h
//
// Memory shared with the server: arrays in it are found by their addresses, so that calls name them
// instead of sending them. To be used with the GIL held.

#ifndef OPSERVE_CLIENT_PYTHON_CORE_REGIONS_H_
#define OPSERVE_CLIENT_PYTHON_CORE_REGIONS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "opserve/place.h"
#include "opserve/shared_memory.h"

namespace opserve::python {

// Results go to multiples of it.
constexpr uint64_t kResultAlignment = 64;

// The regions of a connection. Does not keep them: their arrays do.
class Regions {
 public:
  void Add(const std::shared_ptr<const SharedRegion>& region);

  // Where these bytes are in a region; nothing where they are in none.
  std::optional<TensorPlace> Find(std::span<std::byte> bytes) const;

 private:
  std::vector<std::weak_ptr<const SharedRegion>> regions_;
};

// A region out of which arrays are cut, one after the other. The memory lives as long as one of
// them.
class RegionArrays {
 public:
  explicit RegionArrays(std::shared_ptr<const SharedRegion> region) : region_(std::move(region)) {}

  // A NumPy array of zeros or what an array before it left, aligned to 64 bytes. Throws
  // BadArguments where there is no room left.
  nanobind::object Empty(nanobind::handle shape, nanobind::handle dtype);

  uint64_t size() const { return region_->bytes().size(); }
  uint64_t used() const { return used_; }

 private:
  const std::shared_ptr<const SharedRegion> region_;
  uint64_t used_ = 0;
};

// Sizes that NumPy's users give as `shape`: an integer, or a sequence of them. Throws BadArguments
// for anything else.
std::vector<size_t> ShapeOf(nanobind::handle shape);

}  // namespace opserve::python

#endif  // OPSERVE_CLIENT_PYTHON_CORE_REGIONS_H_
