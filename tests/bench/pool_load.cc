#include "tests/bench/pool_load.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/base/mutex.h"
#include "tests/bench/kernel_call.h"

namespace opserve::bench {
namespace {

// What the clients of a load share.
struct Shared {
  Shared(DevicePool& pool_in, const Load& load_in)
      : pool(pool_in), load(load_in), running(load_in.clients) {}

  DevicePool& pool;
  const Load& load;
  std::atomic<bool> measuring = false;
  std::atomic<bool> stopping = false;
  Mutex mutex;
  CondVar all_done;
  int running ABSL_GUARDED_BY(mutex);
};

// One client: a job that asks again as soon as it is answered. Its figures are its own, because it
// has one request at a time.
class Client final : public Job {
 public:
  Client(Shared& shared, int index) : shared_(shared), buffers_(*shared.load.call, Values::kUsual) {
    call_.invocation = shared.load.call.get();
    std::copy(buffers_.input_pointers.begin(), buffers_.input_pointers.end(), call_.inputs.begin());
    call_.output = buffers_.output.data();
    traits_.lane = LaneKeyOf(*shared.load.call);
    traits_.bytes = buffers_.total_bytes;
    traits_.client = absl::StrCat("client-", index);
    traits_.placement = shared.load.placement;
  }

  void Ask() {
    traits_.accepted = SteadyClock().Now();
    set_traits(traits_);
    if (!shared_.pool.Submit(*this)) Stop();
  }

  absl::StatusOr<DeviceCall> Prepare(DeviceKind) override { return call_; }

  void Answer(const RunRecord& record) override {
    if (shared_.measuring) {
      latencies_.push_back(SteadyClock().Now() - traits_.accepted);
      batch_sizes_ += record.batch_size;
      ++devices_[std::string(record.device)];
    }
    AskAgain();
  }

  void Refuse(const absl::Status&) override {
    ++refused_;
    AskAgain();
  }

  void AddTo(LoadFigures& figures, std::vector<Clock::Duration>& latencies) const {
    latencies.insert(latencies.end(), latencies_.begin(), latencies_.end());
    figures.mean_batch += static_cast<double>(batch_sizes_);
    figures.refused += refused_;
    for (const auto& [device, count] : devices_) figures.devices[device] += count;
  }

 private:
  void AskAgain() { shared_.stopping ? Stop() : Ask(); }

  void Stop() {
    const MutexLock lock(shared_.mutex);
    --shared_.running;
    shared_.all_done.NotifyAll();
  }

  Shared& shared_;
  CallBuffers buffers_;
  DeviceCall call_;
  JobTraits traits_;
  std::vector<Clock::Duration> latencies_;
  uint64_t batch_sizes_ = 0;
  uint64_t refused_ = 0;
  std::map<std::string, uint64_t> devices_;
};

double Microseconds(Clock::Duration duration) {
  return static_cast<double>(duration.count()) * 1e-3;
}

}  // namespace

LoadFigures RunLoad(DevicePool& pool, const Load& load) {
  Shared shared{pool, load};
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < load.clients; ++i) clients.push_back(std::make_unique<Client>(shared, i));
  for (const auto& client : clients) client->Ask();
  std::this_thread::sleep_for(load.warm_up);
  const Clock::TimePoint start = SteadyClock().Now();
  shared.measuring = true;
  std::this_thread::sleep_for(load.duration);
  shared.measuring = false;
  const double seconds = Microseconds(SteadyClock().Now() - start) * 1e-6;
  shared.stopping = true;
  {
    const MutexLock lock(shared.mutex);
    while (shared.running > 0) shared.all_done.Wait(shared.mutex);
  }

  LoadFigures figures;
  std::vector<Clock::Duration> latencies;
  for (const auto& client : clients) client->AddTo(figures, latencies);
  if (latencies.empty()) return figures;
  std::sort(latencies.begin(), latencies.end());
  figures.calls_per_s = static_cast<double>(latencies.size()) / seconds;
  figures.mean_batch /= static_cast<double>(latencies.size());
  figures.p50_us = Microseconds(latencies[latencies.size() / 2]);
  figures.p99_us = Microseconds(latencies[latencies.size() * 99 / 100]);
  return figures;
}

}  // namespace opserve::bench
