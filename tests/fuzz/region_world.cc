#include "tests/fuzz/region_world.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "opserve/rpc/status.pb.h"
#include "server/regions/region_socket.h"
#include "tests/fuzz/require.h"
#include "tests/testing/region_client.h"

namespace opserve::fuzz {
namespace {

constexpr uint64_t kSharedBytes = 8192;
constexpr uint64_t kMaxFileBytes = 1 << 15;
const RegionLimits kRegionLimits = {.max_bytes = 1 << 15, .max_regions = 4};

UniqueFd ReadOnly(const UniqueFd& fd) {
  return UniqueFd(open(absl::StrCat("/proc/self/fd/", fd.get()).c_str(), O_RDONLY | O_CLOEXEC));
}

// Writes a pattern, and sees that every byte can be read.
void Touch(const Region& region) {
  std::byte* const data = region.At(0, region.bytes());
  Require(data != nullptr && region.At(region.bytes(), 1) == nullptr);
  for (uint64_t i = 0; i < region.bytes(); ++i) data[i] = static_cast<std::byte>(i * 7 + (i >> 6));
}

TensorDesc Desc(DataType type, std::vector<uint32_t> sizes) { return PackedDesc(type, sizes); }

}  // namespace

RegionWorld::RegionWorld()
    : regions_(kRegionLimits),
      tensors_({}, clock_, buffers_),
      shared_(testing::MakeMemfd(kSharedBytes)),
      segment_(kSharedBytes) {
  for (const uint64_t bytes : {kSharedBytes, kSharedBytes / 2}) {
    RegionPacket packet;
    packet.mutable_request()->mutable_register_()->set_bytes(bytes);
    packet.add_descriptors()->set_kind(Descriptor::SHARED);
    Answer(packet);
  }
  TensorDesc strided = Desc(DataType::kFloat32, {16});
  strided.strides[0] = 2;
  AddTensor(kClient, Desc(DataType::kFloat32, {4, 16}));
  AddTensor(kClient, Desc(DataType::kUint8, {64}));
  AddTensor(kClient, strided);
  AddTensor("somebody else", Desc(DataType::kFloat32, {4, 16}));
}

void RegionWorld::AddTensor(const std::string& client, const TensorDesc& desc) {
  const uint64_t bytes = ExactSizeInBytes(desc).value_or(0);
  const auto created = tensors_.Create(client, {.desc = desc, .fill = [&](std::byte* data) {
                                                  for (uint64_t i = 0; i < bytes; ++i) {
                                                    data[i] = static_cast<std::byte>(i * 5);
                                                  }
                                                }});
  Require(created.ok());
  handles_.push_back(created->handle);
}

UniqueFd RegionWorld::Open(const Descriptor& descriptor) const {
  const uint64_t bytes = descriptor.bytes() % (kMaxFileBytes + 1);
  switch (descriptor.kind()) {
    case Descriptor::UNSEALED:
      return testing::MakeMemfd(bytes, 0);
    case Descriptor::ONLY_SHRINK:
      return testing::MakeMemfd(bytes, F_SEAL_SHRINK);
    case Descriptor::READ_ONLY:
      return ReadOnly(testing::MakeMemfd(bytes));
    case Descriptor::SHARED:
      return UniqueFd(fcntl(shared_.get(), F_DUPFD_CLOEXEC, 0));
    case Descriptor::DEVICE:
      return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    case Descriptor::CLOSED:
      return UniqueFd();
    default:
      return testing::MakeMemfd(bytes);
  }
}

uint64_t RegionWorld::BytesOffered(const RegionPacket& packet, const v1::RegisterRegion& what,
                                   size_t descriptors) const {
  if (what.has_name()) {
    const bool is_right =
        packet.takes_names() && descriptors == 0 && what.name() == segment_.name();
    return is_right ? kSharedBytes : 0;
  }
  if (descriptors != 1) return 0;
  const Descriptor& descriptor = packet.descriptors(0);
  if (descriptor.kind() == Descriptor::SHARED) return kSharedBytes;
  if (descriptor.kind() >= Descriptor::UNSEALED && descriptor.kind() <= Descriptor::CLOSED) {
    return 0;
  }
  return descriptor.bytes() % (kMaxFileBytes + 1);
}

bool RegionWorld::MayRegister(uint64_t owner, uint64_t available, uint64_t bytes) const {
  Entry used;
  size_t regions = 0;
  for (const auto& [id, entry] : model_) {
    if (entry.owner != owner) continue;
    used.bytes += entry.bytes;
    ++regions;
  }
  return bytes >= 1 && bytes <= available && regions < kRegionLimits.max_regions &&
         bytes <= kRegionLimits.max_bytes - used.bytes;
}

void RegionWorld::Answer(const RegionPacket& packet) {
  Packet sent;
  sent.is_truncated = packet.is_truncated();
  sent.bytes = packet.bytes();
  if (packet.has_request()) {
    v1::RegionRequest named = packet.request();
    if (named.has_unregister()) {
      named.mutable_unregister()->set_region(IdOf(named.unregister().region()));
    } else if (named.register_().name() == "s0") {
      named.mutable_register_()->set_name(segment_.name());
    }
    sent.bytes = named.SerializeAsString();
  }
  for (const Descriptor& descriptor : packet.descriptors()) {
    sent.descriptors.push_back(Open(descriptor));
    if (sent.descriptors.size() == 2) break;
  }
  v1::RegionRequest request;
  const bool is_whole = !sent.is_truncated && request.ParseFromString(sent.bytes);
  const uint64_t owner = packet.owner() % 3;
  bool is_right = false;
  if (is_whole && request.has_register_()) {
    const v1::RegisterRegion& what = request.register_();
    is_right =
        MayRegister(owner, BytesOffered(packet, what, sent.descriptors.size()), what.bytes());
  } else if (is_whole && request.has_unregister()) {
    const auto found = model_.find(request.unregister().region());
    is_right = sent.descriptors.empty() && found != model_.end() && found->second.owner == owner;
  }

  std::optional<Peer> peer;
  if (packet.takes_names()) peer = Peer{geteuid(), {getegid()}};
  v1::RegionResponse response;
  Require(response.ParseFromString(AnswerRegionPacket(regions_, {owner}, peer, sent)));
  Require(response.error().empty() == is_right);
  if (!is_right) {
    rpc::Status error;
    Require(response.region().empty() && error.ParseFromString(response.error()));
    Require(error.code() != 0 && !error.message().empty());
  } else if (request.has_register_()) {
    const uint64_t bytes = request.register_().bytes();
    Require(model_.emplace(response.region(), Entry{owner, bytes}).second);
    region_ids_.push_back(response.region());
    Touch(*regions_.Find(response.region(), {kClient}));
  } else {
    model_.erase(response.region());
  }
  CheckTable();
}

void RegionWorld::CheckTable() {
  Require(regions_.size() == model_.size());
  for (const auto& [id, entry] : model_) {
    const auto region = regions_.Find(id, {kClient});
    Require(region != nullptr && region->bytes() == entry.bytes);
  }
}

std::string RegionWorld::IdOf(const std::string& name) const {
  size_t number = 0;
  if (name.size() < 2 || !absl::SimpleAtoi(name.substr(1), &number)) return name;
  const std::vector<std::string>& ids = name[0] == 'r' ? region_ids_ : handles_;
  return (name[0] == 'r' || name[0] == 't') && number < ids.size() ? ids[number] : name;
}

void RegionWorld::Name(v1::TensorPlace& place) const {
  if (place.has_region()) {
    place.mutable_region()->set_region(IdOf(place.region().region()));
  } else if (!place.tensor().empty()) {
    place.set_tensor(IdOf(place.tensor()));
  }
}

}  // namespace opserve::fuzz
