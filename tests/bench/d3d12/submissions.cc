// Section "submissions": what a submission costs that does nothing.

#include <thread>

#include "proto/base/mutex.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

// Two threads that wake each other in turns: no wait for a device takes less.
class HandOver {
 public:
  HandOver() : other_([this] { Answer(); }) {}
  ~HandOver() {
    Set(Turn::kEnd);
    other_.join();
  }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

  // There and back.
  void Run() {
    Set(Turn::kOther);
    const MutexLock lock(mutex_);
    while (turn_ != Turn::kOwn) changed_.Wait(mutex_);
  }

 private:
  enum class Turn { kOwn, kOther, kEnd };

  void Set(Turn turn) {
    const MutexLock lock(mutex_);
    turn_ = turn;
    changed_.NotifyAll();
  }
  void Answer() {
    const MutexLock lock(mutex_);
    while (true) {
      while (turn_ == Turn::kOwn) changed_.Wait(mutex_);
      if (turn_ == Turn::kEnd) return;
      turn_ = Turn::kOwn;
      changed_.NotifyAll();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  Turn turn_ ABSL_GUARDED_BY(mutex_) = Turn::kOwn;
  std::thread other_;
};

// Seconds of each of `count` runs.
template <class Run>
absl::StatusOr<std::vector<double>> TimesOf(uint64_t count, const Run& run) {
  std::vector<double> times;
  for (uint64_t i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (absl::Status status = run(); !status.ok()) return status;
    times.push_back(SecondsSince(start));
  }
  return times;
}

void AddLatencies(const std::string& name, const std::vector<double>& times, double floor,
                  const std::string& against, SectionResult& result) {
  const double median = Percentile(times, 0.5) * 1e6;
  result.rows.push_back({.name = name + ", p50",
                         .unit = "us",
                         .value = median,
                         .ceiling = floor * 1e6,
                         .against = against});
  result.rows.push_back({.name = name + ", p99",
                         .unit = "us",
                         .value = Percentile(times, 0.99) * 1e6,
                         .ceiling = median,
                         .against = "its p50"});
}

}  // namespace

absl::Status MeasureSubmissions(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<DeviceMeter*> meter = context.Meter();
  if (!meter.ok()) return meter.status();
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  const uint64_t count = context.Sized(2000, 1000, 100);
  HandOver hand_over;
  const auto wakes = TimesOf(count, [&] {
    hand_over.Run();
    return absl::OkStatus();
  });
  const auto empty =
      TimesOf(count, [&] { return (*meter)->Submit([](ID3D12GraphicsCommandList&) {}).status(); });
  if (!empty.ok()) return empty.status();
  const auto invocation = CallOfBytes(kOneBenchCase, SizeOf(kOneBenchCase.type));
  CallBuffers buffers(*invocation, Values::kUsual);
  const DeviceCall call = CallWith(*invocation, buffers);
  const auto smallest = TimesOf(count, [&] { return (*device)->Run({&call, 1}); });
  if (!smallest.ok()) return smallest.status();
  AddLatencies("two threads in turns", *wakes, Percentile(*wakes, 0), "its least", result);
  AddLatencies("empty submission", *empty, Percentile(*wakes, 0.5), "threads", result);
  AddLatencies("call of one element", *smallest, Percentile(*empty, 0.5), "empty", result);
  return absl::OkStatus();
}

}  // namespace opserve::bench
