#include "server/tensors/region_range.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace opserve {

absl::Status FindSlice(RegionTable& regions, const RegionCaller& caller,
                       const v1::RegionRange& range, const std::string& field, RegionSlice& slice,
                       std::vector<Violation>& violations) {
  std::shared_ptr<const Region> region = regions.Find(range.region(), caller);
  if (region == nullptr) return regions.NotFound(range.region());
  slice = {std::move(region), range.offset(), range.bytes()};
  if (slice.data() == nullptr) {
    violations.push_back(
        {absl::StrCat(field, range.offset() > slice.region->bytes() ? ".offset" : ".bytes"),
         absl::StrCat("The range of ", slice.bytes, " bytes at ", slice.offset,
                      " exceeds the region's ", slice.region->bytes(), " bytes.")});
  }
  return absl::OkStatus();
}

}  // namespace opserve
