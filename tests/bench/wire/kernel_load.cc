#include "tests/bench/wire/kernel_load.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/cpu/cpu_executor.h"
#include "proto/base/mutex.h"
#include "tests/bench/kernel_call.h"

namespace opserve::wire_bench {
namespace {

class KernelLoad {
 public:
  KernelLoad(const Payload& payload, int concurrency)
      : payload_(payload),
        call_(bench::MakePackedCall(OpId::ELEMENT_WISE_ROUND, DataType::kFloat32, /*mode=*/0,
                                    static_cast<uint32_t>(payload.size() / sizeof(float)))),
        input_(payload.size()) {
    std::memcpy(input_.data(), payload.bytes().data(), payload.size());
    for (int i = 0; i < concurrency; ++i) outputs_.emplace_back(payload.size());
  }

  // Calls of at most `callers` threads at a time.
  void Run(size_t callers, Meter& meter) {
    std::vector<std::thread> others;
    for (size_t i = 1; i < callers; ++i) {
      others.emplace_back([this, i, callers, &meter] { Call(i, callers, meter); });
    }
    Call(0, callers, meter);
    for (std::thread& other : others) other.join();
  }

  size_t most_callers() const {
    return std::min(outputs_.size(), static_cast<size_t>(executor_.threads()));
  }

  absl::Status Check() const {
    for (const bench::Buffer& output : outputs_) {
      if (std::memcmp(output.data(), payload_.expected().data(), payload_.size()) != 0) {
        return absl::InternalError("a result of the kernel is wrong");
      }
    }
    return absl::OkStatus();
  }

 private:
  // The results number `first`, `first` + `stride` and so on, until `meter` has enough.
  void Call(size_t first, size_t stride, Meter& meter) {
    const std::byte* const inputs[] = {input_.data()};
    for (size_t slot = first;; slot = slot + stride < outputs_.size() ? slot + stride : first) {
      const SteadyClock::time_point began = SteadyClock::now();
      executor_.Run(*call_, inputs, outputs_[slot].data());
      const SteadyClock::time_point ended = SteadyClock::now();
      const MutexLock lock(mutex_);
      if (!meter.Done(began, ended)) return;
    }
  }

  const Payload& payload_;
  const std::shared_ptr<const Invocation> call_;
  const CpuExecutor executor_;
  bench::Buffer input_;
  std::vector<bench::Buffer> outputs_;
  Mutex mutex_;  // of the meter
};

double CallsPerSecond(const Measurement& measurement) {
  return static_cast<double>(measurement.calls) / measurement.seconds;
}

}  // namespace

absl::StatusOr<Measurement> MeasureKernel(const Payload& payload, int concurrency,
                                          std::chrono::duration<double> warm_up,
                                          std::chrono::duration<double> duration) {
  KernelLoad load(payload, concurrency);
  std::vector<size_t> ways = {1};
  if (load.most_callers() > 1) ways.push_back(load.most_callers());
  const auto share = static_cast<double>(ways.size());
  Measurement best;
  for (const size_t callers : ways) {
    Meter meter(warm_up / share, duration / share, static_cast<uint64_t>(concurrency),
                /*server=*/0);
    load.Run(callers, meter);
    const Measurement& result = meter.result();
    if (best.calls == 0 || CallsPerSecond(result) > CallsPerSecond(best)) best = result;
  }
  absl::Status right = load.Check();
  if (!right.ok()) return right;
  return best;
}

}  // namespace opserve::wire_bench
