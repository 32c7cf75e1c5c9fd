#include "client/api/staging.h"

#include <algorithm>
#include <utility>

#include "client/memory/ring_feed.h"
#include "client/wire/large_copy.h"
#include "client/wire/wire.h"
#include "opserve/errors.h"
#include "opserve/tensor.h"

namespace opserve::client_internal {
namespace {

// Results have to begin at such an address of a region, and inputs are read fastest from there.
constexpr uint64_t kAlignment = 64;

uint64_t AlignUp(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// What the layout of an input needs of its bytes; nullopt where it is no valid one, or its bytes
// are somewhere else, or not as many: the server says what is wrong with it.
std::optional<uint64_t> NeededBytes(const TensorView& input) {
  if (input.place()) return std::nullopt;
  const absl::StatusOr<uint64_t> needed = ByteSize(input.spec());
  if (!needed.ok()) return std::nullopt;
  // Payloads may be rounded up.
  const uint64_t given = input.bytes().size();
  if (given < *needed || given - *needed > 3) return std::nullopt;
  return *needed;
}

}  // namespace

bool Staging::Suits(const OperatorCall& call) const {
  if (!is_on_) return false;
  uint64_t given = 0;
  for (const TensorView& input : call.inputs) given += input.bytes().size();
  return given >= kLeastBytes && std::ranges::all_of(call.inputs, [](const TensorView& input) {
           return NeededBytes(input).has_value();
         });
}

bool Staging::AsksServer() const {
  const MutexLock lock(mutex_);
  return !server_ && clock_.Now() >= paused_until_;
}

void Staging::LearnServer(const absl::StatusOr<ServerInfo>& info) {
  {
    const MutexLock lock(mutex_);
    if (info.ok()) server_ = info->shared_memory;
    if (server_) return;
  }
  Pause();
}

void Staging::Pause() {
  const absl::Time until = clock_.Now() + kPause;
  const MutexLock lock(mutex_);
  paused_until_ = until;
}

std::optional<KnownResult> Staging::ResultOf(const OperatorCall& call) const {
  const std::string key = ResultKey(call);
  const MutexLock lock(mutex_);
  const auto found = results_.find(key);
  if (found == results_.end()) return std::nullopt;
  return found->second;
}

void Staging::LearnResult(const OperatorCall& call, const KnownResult& result) {
  std::string key = ResultKey(call);
  const MutexLock lock(mutex_);
  // Programs make calls of few kinds, so this is rare.
  if (results_.size() >= kMostResults) results_.clear();
  results_[std::move(key)] = result;
}

std::optional<StagedCall> Staging::TakeRegions(uint64_t input_bytes, uint64_t result_bytes) {
  StagedCall staged;
  staged.inputs = Take(input_bytes);
  if (staged.inputs == nullptr) return std::nullopt;
  staged.output = Take(result_bytes);
  if (staged.output == nullptr) {
    staged.inputs->MarkReusable();
    return std::nullopt;
  }
  staged.output_bytes = result_bytes;
  return staged;
}

std::optional<StagedCall> Staging::Stage(const OperatorCall& call, uint64_t result_bytes) {
  uint64_t input_bytes = 0;
  for (const TensorView& input : call.inputs) input_bytes += AlignUp(*NeededBytes(input));
  std::optional<StagedCall> staged = TakeRegions(input_bytes, result_bytes);
  if (!staged) return std::nullopt;
  OperatorCall placed = call;
  uint64_t offset = 0;
  for (TensorView& input : placed.inputs) {
    const RegionRange range = staged->inputs->region().range(offset, *NeededBytes(input));
    CopyPiece(input.bytes().first(range.size()), range.bytes().data());
    offset += AlignUp(range.size());
    TensorView there = TensorView::At(range, input.spec());
    there.set_name(input.name());
    input = std::move(there);
  }
  staged->request = MakeRequest(placed, staged->output_range());
  return staged;
}

std::optional<StagedCall> Staging::StageInRing(const OperatorCall& call, uint64_t result_bytes) {
  {
    const MutexLock lock(mutex_);
    if (clock_.Now() < no_ring_until_) return std::nullopt;
  }
  const std::optional<RingLayout> layout = LayOutRing(call.inputs);
  if (!layout) return std::nullopt;
  v1::PayloadRing ring;
  uint64_t input_bytes = 0;
  for (const RingLayout::Input& input : layout->inputs) {
    ring.add_payload_bytes(input.bytes);
    input_bytes += input.bytes;
  }
  if (input_bytes < kLeastRingBytes) return std::nullopt;
  ring.set_run_elements(layout->run_elements);
  ring.set_runs(static_cast<uint32_t>(layout->runs));
  std::optional<StagedCall> staged = TakeRegions(layout->bytes, result_bytes);
  if (!staged) return std::nullopt;
  const RegionRange memory = staged->inputs->region().range(0, layout->bytes);
  staged->request = MakeRingRequest(call, std::move(ring), memory, staged->output_range());
  staged->request.feed = std::make_shared<RingFeed>(*layout, call.inputs, memory.bytes());
  return staged;
}

std::unique_ptr<PooledRegion> Staging::Take(uint64_t bytes) {
  auto region = regions_.Take(bytes, [this](uint64_t size) { return MakeRegion(size); });
  return region.ok() ? *std::move(region) : nullptr;
}

absl::StatusOr<SharedRegion> Staging::MakeRegion(uint64_t bytes) {
  const absl::Time now = clock_.Now();
  const auto find_server = [this]() -> absl::StatusOr<SharedMemoryInfo> {
    const MutexLock lock(mutex_);
    if (server_) return *server_;
    return absl::UnavailableError("the server is not known to share memory");
  };
  {
    const MutexLock lock(mutex_);
    if (now < paused_until_) return absl::UnavailableError("it went wrong a short time ago");
  }
  absl::StatusOr<SharedRegion> region = shared_memory_.Create(bytes, find_server, [&] {
    return std::max(now + kMostWait - clock_.Now(), absl::ZeroDuration());
  });
  if (IsToPause(region.status())) Pause();
  return region;
}

bool Staging::IsToPause(const absl::Status& made) {
  const MutexLock lock(mutex_);
  if (made.ok()) is_asked_anew_ = false;
  if (!absl::IsUnavailable(made)) return !made.ok();
  // Perhaps the server has been started anew, with other settings. Threads that meet the same end
  // ask once.
  if (!server_) return false;
  server_.reset();
  return std::exchange(is_asked_anew_, true);
}

bool Staging::GoesOnInMessages(const absl::Status& failure) {
  // Regions end with the server; one that was started anew may tell another address of itself.
  const bool is_forgotten = absl::IsNotFound(failure) || absl::IsUnavailable(failure) ||
                            GetErrorReason(failure) == kWrongHost;
  if (is_forgotten) regions_.Clear();
  if (absl::IsAborted(failure)) {
    // This thread did not get on with it.
    const absl::Time until = clock_.Now() + kPause;
    const MutexLock lock(mutex_);
    no_ring_until_ = until;
    return true;
  }
  // Errors of messages and of places have different words, and nobody chose places here.
  return is_forgotten || absl::IsInvalidArgument(failure);
}

}  // namespace opserve::client_internal
