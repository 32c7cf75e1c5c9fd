#include "server/tensors/tensor_places.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/op_table.h"
#include "kernels/validate_tensor.h"
#include "server/errors/errors.h"
#include "server/tensors/region_range.h"
#include "server/wire/wire.h"

namespace opserve {
namespace {

// Results are written with vector instructions that need their alignment.
constexpr uint64_t kOutputAlignment = kHostBufferAlignment;

// A place that is set.
absl::Status FindShare(const PlaceParts& parts, const PlaceCaller& caller,
                       const v1::TensorPlace& place, const std::string& field, TensorShare& share,
                       std::vector<Violation>& violations) {
  if (place.has_region()) {
    return FindSlice(parts.regions, caller.region, place.region(), field + ".region", share.slice,
                     violations);
  }
  auto tensor = parts.tensors.Find(caller.client, place.tensor());
  if (!tensor.ok()) return tensor.status();
  share.tensor = *std::move(tensor);
  return absl::OkStatus();
}

bool HasSameLayout(const TensorDesc& a, const TensorDesc& b) {
  return a.data_type == b.data_type && a.dimension_count == b.dimension_count &&
         a.sizes == b.sizes && a.strides == b.strides;
}

}  // namespace

bool TensorShare::Overlaps(const TensorShare& other) const {
  if (tensor != nullptr) return tensor == other.tensor;
  return slice.region != nullptr && other.slice.region != nullptr && Overlap(slice, other.slice);
}

bool TensorShare::IsSameAs(const TensorShare& other) const {
  if (tensor != nullptr) return tensor == other.tensor;
  return slice.region != nullptr && other.slice.region != nullptr && AreSame(slice, other.slice);
}

absl::Status InputPlaces::Resolve(const PlaceParts& parts, const PlaceCaller& caller,
                                  const google::protobuf::RepeatedPtrField<v1::TensorPlace>& places,
                                  std::vector<uint64_t> payload_bytes,
                                  google::protobuf::RepeatedPtrField<v1::TensorDesc>& descs,
                                  std::vector<Violation>& violations) {
  if (places.empty()) {
    bytes_ = std::move(payload_bytes);
    return absl::OkStatus();
  }
  if (places.size() != descs.size()) {
    return MakeViolationError(
        {"input_places",
         absl::StrCat("The number of places (", places.size(),
                      ") is neither 0 nor that of the inputs (", descs.size(), ").")});
  }
  if (static_cast<size_t>(places.size()) > kMaxListedItems) {
    return MakeViolationError(
        {"input_places", absl::StrCat("The number of places (", places.size(),
                                      ") exceeds the limit (", kMaxListedItems, ").")});
  }
  const auto in_message = static_cast<size_t>(
      std::count_if(places.begin(), places.end(), [](const v1::TensorPlace& place) {
        return place.place_case() == v1::TensorPlace::PLACE_NOT_SET;
      }));
  if (in_message != payload_bytes.size()) {
    return MakeViolationError(
        {"payloads", absl::StrCat("The number of payloads (", payload_bytes.size(),
                                  ") differs from the number of inputs that are in no "
                                  "other place (",
                                  in_message, ").")});
  }
  shares_.resize(places.size());
  size_t payload = 0;
  for (int i = 0; i < places.size(); ++i) {
    if (places[i].place_case() == v1::TensorPlace::PLACE_NOT_SET) {
      AddPayload(payload, payload_bytes[payload]);
      ++payload;
      continue;
    }
    absl::Status status = AddShare(parts, caller, places[i], i, descs[i], violations);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void InputPlaces::AddPayload(size_t index, uint64_t bytes) {
  bytes_.push_back(bytes);
  fields_.push_back(absl::StrCat("payloads[", index, "]"));
}

absl::Status InputPlaces::AddShare(const PlaceParts& parts, const PlaceCaller& caller,
                                   const v1::TensorPlace& place, size_t input, v1::TensorDesc& desc,
                                   std::vector<Violation>& violations) {
  TensorShare& share = shares_[input];
  const std::string field = absl::StrCat("input_places[", input, "]");
  absl::Status status = FindShare(parts, caller, place, field, share, violations);
  if (!status.ok()) return status;
  if (share.tensor == nullptr) {
    bytes_.push_back(share.slice.bytes);
    fields_.push_back(field + ".region.bytes");
    return absl::OkStatus();
  }
  bytes_.push_back(share.tensor->bytes());
  fields_.push_back(field + ".tensor");
  if (desc.data_type() == v1::DATA_TYPE_UNSPECIFIED && desc.sizes().empty() &&
      desc.strides().empty()) {
    WriteDesc(share.tensor->desc(), desc);
  }
  return absl::OkStatus();
}

std::vector<TensorBytes> InputPlaces::Take(std::vector<TensorBytes> payloads, bool copies_regions,
                                           HostBufferPool& buffers) {
  if (shares_.empty()) return payloads;
  std::vector<TensorBytes> inputs;
  inputs.reserve(shares_.size());
  auto payload = payloads.begin();
  for (const TensorShare& share : shares_) {
    if (share.tensor != nullptr) {
      const TensorSnapshot& snapshot = snapshots_.emplace_back(share.tensor->Snapshot());
      inputs.push_back(snapshot.bytes());
    } else if (share.slice.region == nullptr) {
      inputs.push_back(*payload++);
    } else if (copies_regions) {
      HostBuffer& copy = copies_.emplace_back(buffers.Take(share.slice.bytes));
      std::memcpy(copy.data(), share.slice.data(), share.slice.bytes);
      inputs.emplace_back(copy.data());
    } else {
      inputs.emplace_back(share.slice.data());
    }
  }
  return inputs;
}

std::vector<std::shared_ptr<TensorContent>> InputPlaces::SharesOfOrigin(
    absl::string_view device) const {
  std::vector<std::shared_ptr<TensorContent>> contents;
  const bool are_placed =
      std::all_of(shares_.begin(), shares_.end(),
                  [device](const TensorShare& share) { return share.home() == device; });
  if (!are_placed) return contents;
  for (const TensorSnapshot& snapshot : snapshots_) {
    contents.push_back(TensorContent::ShareOfOrigin(*snapshot.share));
  }
  return contents;
}

void InputPlaces::FetchVolatile() {
  for (const TensorSnapshot& snapshot : snapshots_) {
    if (snapshot.share->is_volatile()) snapshot.share->Fetch();
  }
}

absl::string_view InputPlaces::home() const {
  const auto placed = std::find_if(shares_.begin(), shares_.end(),
                                   [](const TensorShare& share) { return !share.home().empty(); });
  return placed == shares_.end() ? absl::string_view() : placed->home();
}

void InputPlaces::Release() {
  shares_.clear();
  copies_.clear();
  snapshots_.clear();
}

absl::Status OutputPlace::Resolve(const PlaceParts& parts, const PlaceCaller& caller,
                                  const v1::TensorPlace& place, std::string field,
                                  std::vector<Violation>& violations) {
  field_ = std::move(field);
  if (place.place_case() == v1::TensorPlace::PLACE_NOT_SET) return absl::OkStatus();
  absl::Status status = FindShare(parts, caller, place, field_, share_, violations);
  if (share_.tensor != nullptr) {
    tensors_ = &parts.tensors;
    client_ = caller.client;
    may_wait_ = !home().empty() || tensors_->HasPlaced(client_);
  }
  if (status.ok() && share_.slice.offset % kOutputAlignment != 0) {
    violations.push_back(
        {field_ + ".region.offset",
         absl::StrCat("The offset (", share_.slice.offset, ") of a result is not a multiple of ",
                      kOutputAlignment, ".")});
  }
  return status;
}

void OutputPlace::TrimTo(uint64_t bytes) {
  if (share_.slice.region != nullptr) share_.slice.bytes = std::min(share_.slice.bytes, bytes);
}

void OutputPlace::Check(const TensorDesc& desc, uint64_t bytes,
                        std::vector<Violation>& violations) const {
  if (share_.tensor != nullptr) {
    if (HasSameLayout(share_.tensor->desc(), desc)) return;
    violations.push_back(
        {field_ + ".tensor", "The tensor's type, sizes or strides are not those of the result."});
    return;
  }
  const uint64_t given = share_.slice.bytes;
  if (share_.slice.region == nullptr || IsFittingSize(given, bytes)) return;
  violations.push_back(
      {field_ + ".region.bytes",
       absl::StrCat("The place has ", given, " bytes, but the result's descriptor needs ",
                    FittingSizes(bytes), ".")});
}

std::byte* OutputPlace::memory() const {
  return share_.slice.region == nullptr ? nullptr : share_.slice.data();
}

ResultContent OutputPlace::NewContent() {
  if (share_.home().empty()) return {};
  new_content_ = NewContentId();
  return {.id = new_content_, .replaced = share_.tensor->content()};
}

void OutputPlace::LetStay(std::shared_ptr<const Invocation> invocation, const InputPlaces& inputs,
                          DevicePool& pool, HostBufferPool& buffers, ResultContent& content) {
  if (home().empty() || invocation->output_bytes < kLeastUnreadBytes) return;
  if (share_.tensor->is_volatile()) {
    LetStayVolatile(invocation->output_bytes, pool, buffers, content);
    return;
  }
  ResultSource source{std::move(invocation), inputs.SharesOfOrigin(home())};
  if (source.inputs.empty() || source.steps().value_or(INT_MAX) > kMostOriginSteps) return;
  stay_ = std::make_unique<Stay>(Stay{pool, buffers, std::move(source)});
  content.stays = &stay_->stays;
}

void OutputPlace::LetStayVolatile(uint64_t bytes, DevicePool& pool, HostBufferPool& buffers,
                                  ResultContent& content) {
  if (home().empty() || !share_.tensor->is_volatile() || bytes < kLeastUnreadBytes) return;
  stay_ = std::make_unique<Stay>(Stay{.pool = pool, .buffers = buffers});
  stay_->kept = std::make_shared<VolatileResult>(pool, content.id);
  content.stays = &stay_->stays;
  content.is_volatile = true;
}

std::shared_ptr<const ContentOrigin> OutputPlace::OriginOf(Stay& stay, const RunRecord& record) {
  if (stay.kept != nullptr) {
    stay.kept->set_device(record.device);
    return std::move(stay.kept);
  }
  return std::make_shared<ResultOrigin>(stay.pool, stay.buffers, record.device, record.lease,
                                        std::move(stay.source));
}

absl::Status OutputPlace::Put(HostBuffer buffer, uint64_t bytes, const RunRecord& record) {
  if (share_.tensor == nullptr) {
    std::memcpy(share_.slice.data(), buffer.data(), bytes);
    return absl::OkStatus();
  }
  const bool is_known = record.kind == DeviceKind::kGpu;
  // What the result replaces is needed no more where it does not stay.
  const std::unique_ptr<Stay> stay = std::move(stay_);
  if (stay == nullptr || !stay->stays || !is_known) {
    if (stay != nullptr) stay->source = {};
    return Replace(std::make_shared<TensorContent>(
        std::move(buffer), bytes,
        is_known && new_content_ != kNoContent ? new_content_ : NewContentId()));
  }
  buffer = {};
  return Replace(
      std::make_shared<TensorContent>(OriginOf(*stay, record), bytes, new_content_, stay->buffers));
}

absl::Status OutputPlace::Replace(const std::shared_ptr<TensorContent>& fresh) {
  absl::Status status = share_.tensor->Replace(fresh);
  if (status.ok() || tensors_ == nullptr) return status;
  // What unread results may have to be computed from counts, too, until they are fetched.
  if (!fresh->is_volatile()) fresh->Fetch();
  for (const auto& unread : tensors_->Unread(client_)) unread->Fetch();
  return share_.tensor->Replace(fresh);
}

bool CheckInPlace(const Invocation& invocation, const InputPlaces& inputs,
                  const OutputPlace& output, std::vector<Violation>& violations) {
  const OpTraits& traits = TraitsOf(invocation.op);
  bool touches = false;
  for (int i = 0; i < traits.input_count() && !inputs.shares().empty(); ++i) {
    if (invocation.payload_index[i] < 0) continue;
    const TensorShare& input = inputs.shares()[invocation.payload_index[i]];
    if (!output.share().Overlaps(input)) continue;
    touches = true;
    const bool may_alias = std::find(traits.in_place.begin(), traits.in_place.end(),
                                     traits.inputs[i].name) != traits.in_place.end();
    if (may_alias && output.share().IsSameAs(input)) continue;
    violations.push_back(
        {output.field(), absl::StrCat("The place of the result overlaps ", traits.inputs[i].name,
                                      may_alias ? "; to work in place, it must be the same bytes."
                                                : ", in whose place this operator cannot work.")});
  }
  return touches;
}

}  // namespace opserve
