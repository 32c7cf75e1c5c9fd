#include "server/metrics/request_metrics.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace opserve {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

void Bump(std::atomic<uint64_t>& count, uint64_t by = 1) { count.fetch_add(by, kRelaxed); }

// Whether requests of the method compute something: those of the service itself, and of KServe's.
bool Computes(absl::string_view method) {
  return absl::StartsWith(method, "Execute") || method == "ModelInfer" ||
         method == "ModelStreamInfer";
}

}  // namespace

RequestMetrics::RequestMetrics() : shards_(std::make_unique<std::array<Shard, kShards>>()) {}

RequestMetrics::Shard& RequestMetrics::Mine() {
  static std::atomic<size_t> last = 0;
  thread_local const size_t mine = last.fetch_add(1, kRelaxed) % kShards;
  return (*shards_)[mine];
}

size_t RequestMetrics::WorkOf(const RequestRecord& record) {
  if (record.work == WorkKind::kOperator) return static_cast<size_t>(record.op);
  return record.work == WorkKind::kSequence ? kSequenceWork : kNoWork;
}

void RequestMetrics::OnRequest(const RequestRecord& record, const RequestSource&) noexcept {
  Shard& shard = Mine();
  const auto code = std::min(static_cast<size_t>(record.code), kCodes - 1);
  Method& method = shard.methods[methods_.Of(record.method)];
  Bump(method.calls[code]);
  Bump(method.received, record.bytes_in);
  Bump(method.sent, record.bytes_out);
  if (record.code != absl::StatusCode::kOk) {
    Bump(shard.errors[record.reason ? static_cast<size_t>(*record.reason) : kReasons]);
  }
  if (record.received) shard.receiving.Add(*record.received);
  // A request that was refused early computes nothing that is known, but its method does.
  if (record.work == WorkKind::kNone && !Computes(record.method)) return;
  const size_t work = WorkOf(record);
  const size_t device = record.device.empty() ? kNoDevice : devices_.Of(record.device);
  Work* const mine = shard.works[work][device].Make();
  if (mine == nullptr) return;
  Bump(mine->requests[static_cast<size_t>(record.type)][code]);
  mine->total.Add(record.total);
  if (record.device.empty()) return;
  mine->queue.Add(record.queued);
  mine->run.Add(record.ran);
}

void RequestMetrics::OnSent(absl::string_view method, Clock::Duration took) noexcept {
  Mine().methods[methods_.Of(method)].sending.Add(took);
}

template <class Counter>
uint64_t RequestMetrics::Sum(Counter counter) const {
  uint64_t sum = 0;
  for (const Shard& shard : *shards_) sum += counter(shard).load(kRelaxed);
  return sum;
}

template <class Use>
void RequestMetrics::ForEachWork(size_t work, size_t device, Use use) const {
  for (const Shard& shard : *shards_) {
    if (const Work* const one = shard.works[work][device].get(); one != nullptr) use(*one);
  }
}

template <class Histogram>
DurationSum RequestMetrics::SumTimes(Histogram histogram) const {
  DurationSum sum;
  for (const Shard& shard : *shards_) sum.Add(histogram(shard));
  return sum;
}

absl::string_view RequestMetrics::WorkName(size_t work) {
  if (work == kNoWork) return "none";
  return work == kSequenceWork ? "sequence" : TraitsOf(static_cast<OpId>(work)).name;
}

absl::string_view RequestMetrics::DeviceName(size_t device) const {
  return device == kNoDevice ? "none" : devices_.NameOf(device);
}

void RequestMetrics::Collect(MetricSet& set) const {
  CollectRequests(set);
  CollectMethods(set);
  CollectErrors(set);
  CollectTimes(set, MetricId::kRequestSeconds, &Work::total);
  CollectTimes(set, MetricId::kQueueSeconds, &Work::queue);
  CollectTimes(set, MetricId::kRunSeconds, &Work::run);
  CollectTransfers(set);
}

void RequestMetrics::CollectRequests(MetricSet& set) const {
  for (size_t work = 0; work < kWorks; ++work) {
    for (size_t type = 0; type < kDataTypeCount; ++type) {
      const absl::string_view type_name =
          type == 0 ? absl::string_view("none") : NameOf(static_cast<DataType>(type));
      for (size_t device = 0; device < kDevices; ++device) {
        for (size_t code = 0; code < kCodes; ++code) {
          uint64_t count = 0;
          ForEachWork(work, device,
                      [&](const Work& one) { count += one.requests[type][code].load(kRelaxed); });
          if (count == 0) continue;
          set.Add(MetricId::kRequests,
                  {WorkName(work), type_name, DeviceName(device),
                   absl::StatusCodeToString(static_cast<absl::StatusCode>(code))},
                  static_cast<double>(count));
        }
      }
    }
  }
}

void RequestMetrics::CollectTimes(MetricSet& set, MetricId id,
                                  DurationHistogram Work::*which) const {
  for (size_t work = 0; work < kWorks; ++work) {
    for (size_t device = 0; device < kDevices; ++device) {
      DurationSum sum;
      ForEachWork(work, device, [&](const Work& one) { sum.Add(one.*which); });
      if (!sum.empty()) set.Add(id, {WorkName(work), DeviceName(device)}, sum.value());
    }
  }
}

void RequestMetrics::CollectTransfers(MetricSet& set) const {
  set.Add(MetricId::kReceiveSeconds, {"stream_request"},
          SumTimes([](const Shard& shard) -> const DurationHistogram& {
            return shard.receiving;
          }).value());
  for (size_t method = 0; method < kMethods; ++method) {
    const DurationSum sum = SumTimes([&](const Shard& shard) -> const DurationHistogram& {
      return shard.methods[method].sending;
    });
    if (!sum.empty()) set.Add(MetricId::kSendSeconds, {methods_.NameOf(method)}, sum.value());
  }
}

void RequestMetrics::CollectMethods(MetricSet& set) const {
  for (size_t method = 0; method < kMethods; ++method) {
    uint64_t all = 0;
    for (size_t code = 0; code < kCodes; ++code) {
      const uint64_t count = Sum(
          [&](const Shard& shard) -> const Count& { return shard.methods[method].calls[code]; });
      if (count == 0) continue;
      all += count;
      set.Add(
          MetricId::kCalls,
          {methods_.NameOf(method), absl::StatusCodeToString(static_cast<absl::StatusCode>(code))},
          static_cast<double>(count));
    }
    if (all == 0) continue;
    const auto sum_of = [&](Count Method::*which) {
      return static_cast<double>(
          Sum([&](const Shard& shard) -> const Count& { return shard.methods[method].*which; }));
    };
    set.Add(MetricId::kReceivedBytes, {methods_.NameOf(method)}, sum_of(&Method::received));
    set.Add(MetricId::kSentBytes, {methods_.NameOf(method)}, sum_of(&Method::sent));
  }
}

void RequestMetrics::CollectErrors(MetricSet& set) const {
  for (size_t reason = 0; reason <= kReasons; ++reason) {
    const uint64_t count =
        Sum([&](const Shard& shard) -> const Count& { return shard.errors[reason]; });
    set.Add(MetricId::kErrors,
            {reason == kReasons ? absl::string_view("none") : NameOf(kAllErrorReasons[reason])},
            static_cast<double>(count));
  }
}

}  // namespace opserve
