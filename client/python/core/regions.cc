#include "client/python/core/regions.h"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <typeinfo>

#include "absl/strings/str_cat.h"
#include "client/python/core/arrays.h"
#include "client/python/core/errors.h"

namespace opserve::python {
namespace {

namespace nb = nanobind;

std::vector<size_t> SizesOf(nb::handle shape) {
  if (PyIndex_Check(shape.ptr())) return {nb::cast<size_t>(nb::int_(nb::borrow(shape)))};
  return nb::cast<std::vector<size_t>>(shape);
}

std::optional<uint64_t> BytesOf(const std::vector<size_t>& sizes, size_t element) {
  uint64_t bytes = element;
  for (const size_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

void Regions::Add(const std::shared_ptr<const SharedRegion>& region) {
  std::erase_if(regions_, [](const auto& known) { return known.expired(); });
  regions_.push_back(region);
}

std::optional<TensorPlace> Regions::Find(std::span<std::byte> bytes) const {
  for (const std::weak_ptr<const SharedRegion>& known : regions_) {
    const std::shared_ptr<const SharedRegion> region = known.lock();
    if (region == nullptr) continue;
    const std::span<std::byte> all = region->bytes();
    if (bytes.data() < all.data() || bytes.data() >= all.data() + all.size()) continue;
    const auto offset = static_cast<uint64_t>(bytes.data() - all.data());
    if (bytes.size() > all.size() - offset) continue;
    return region->range(offset, bytes.size());
  }
  return std::nullopt;
}

std::vector<size_t> ShapeOf(nb::handle shape) {
  try {
    return SizesOf(shape);
  } catch (const std::bad_cast&) {
  } catch (const nb::python_error&) {
  }
  throw BadArguments(
      "shape", absl::StrCat(nb::repr(shape).c_str(), " is no shape; sizes are integers from 0 on"));
}

nb::object RegionArrays::Empty(nb::handle shape, nb::handle dtype) {
  const std::vector<size_t> sizes = ShapeOf(shape);
  const DataType type = DataTypeOf(dtype, "dtype");
  const std::optional<uint64_t> bytes = BytesOf(sizes, SizeOf(type));
  if (!bytes || *bytes > size() - used_) {
    throw BadArguments("shape", absl::StrCat("the array needs ", bytes.value_or(UINT64_MAX),
                                             " bytes; the region has ", size() - used_, " left"));
  }
  std::byte* const data = region_->bytes().data() + used_;
  used_ = std::min(size(),
                   (used_ + *bytes + kResultAlignment - 1) / kResultAlignment * kResultAlignment);
  return AsArray(data, type, sizes, std::make_shared<std::shared_ptr<const SharedRegion>>(region_));
}

}  // namespace opserve::python
