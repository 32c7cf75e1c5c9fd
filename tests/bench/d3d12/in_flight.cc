// Section "in-flight": several threads with a batch each, on one device.

#include <array>
#include <atomic>
#include <deque>

#include "absl/strings/str_cat.h"
#include "proto/base/mutex.h"
#include "tests/bench/d3d12/bench_cases.h"
#include "tests/bench/d3d12/sections.h"

namespace opserve::bench {
namespace {

constexpr int kMostInFlight = 4;

// One batch per thread; the first failure of any.
class ConcurrentBatches {
 public:
  ConcurrentBatches(d3d12::D3D12Device& device, uint64_t bytes, size_t count) : device_(device) {
    const auto invocation = CallOfBytes(kOneBenchCase, bytes);
    for (Batch& batch : batches_) {
      batch.invocation = invocation;
      for (size_t i = 0; i < count; ++i) {
        batch.calls.push_back(
            CallWith(*invocation, batch.buffers.emplace_back(*invocation, Values::kUsual)));
      }
    }
  }

  void Run(int thread) {
    const absl::Status status = device_.Run(batches_[static_cast<size_t>(thread)].calls);
    if (status.ok()) return;
    const MutexLock lock(mutex_);
    status_.Update(status);
  }
  absl::Status status() {
    const MutexLock lock(mutex_);
    return status_;
  }
  // Bytes that one batch reads and writes.
  uint64_t bytes() const {
    return batches_[0].buffers.size() * batches_[0].buffers.front().total_bytes;
  }

 private:
  struct Batch {
    std::shared_ptr<const Invocation> invocation;
    std::deque<CallBuffers> buffers;
    std::vector<DeviceCall> calls;
  };

  d3d12::D3D12Device& device_;
  std::array<Batch, kMostInFlight> batches_;
  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status MeasureInFlight(BenchContext& context, SectionResult& result) {
  const absl::StatusOr<d3d12::D3D12Device*> device = context.Device();
  if (!device.ok()) return device.status();
  struct Shape {
    uint64_t bytes;
    size_t count;
  };
  for (const Shape shape : {Shape{4 * kKiB, 64}, Shape{context.Sized(8, 4, 1) * kMiB, 1}}) {
    ConcurrentBatches batches(**device, shape.bytes, shape.count);
    std::vector<Competitor> competitors;
    for (int threads = 1; threads <= kMostInFlight; ++threads) {
      competitors.push_back({[&batches](int thread) { batches.Run(thread); }, threads});
    }
    const std::vector<double> seconds = context.Seconds(competitors);
    if (absl::Status status = batches.status(); !status.ok()) return status;
    for (int threads = 1; threads <= kMostInFlight; ++threads) {
      const double took = seconds[static_cast<size_t>(threads) - 1] / threads;
      result.rows.push_back(RateRow(absl::StrCat(threads, " x batch of ", shape.count), shape.bytes,
                                    batches.bytes(), took, seconds[0], "one"));
    }
  }
  return absl::OkStatus();
}

}  // namespace opserve::bench
