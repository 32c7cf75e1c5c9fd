#include "tests/bench/d3d12/repeated_work.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

constexpr int kRounds = 5;
// Seconds per repetition. Where the machine was so busy with others that many took no longer than
// one, what the submission costs is in it.
absl::StatusOr<double> RoundOf(const RepeatedWork& work, int repeats) {
  const absl::StatusOr<double> one = work(1);
  if (!one.ok()) return one.status();
  const absl::StatusOr<double> many = work(1 + repeats);
  if (!many.ok()) return many.status();
  return *many > *one ? (*many - *one) / repeats : *many / (1 + repeats);
}

// As many repetitions as fit into `seconds`, or some more.
absl::StatusOr<int> RepeatsWithin(const RepeatedWork& work, double seconds) {
  constexpr int kTried = 9;
  double least = 0;
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<double> took = work(kTried);
    if (!took.ok()) return took.status();
    // The first one warms up.
    least = i < 2 ? *took : std::min(least, *took);
  }
  return static_cast<int>(std::clamp(seconds / least * kTried, 4.0, 2000.0));
}

}  // namespace

RepeatedWork WorkOf(DeviceMeter& meter, Recorder before, Recorder repeated) {
  return [&meter, before = std::move(before), repeated = std::move(repeated)](int repeats) {
    return meter.Submit([&](ID3D12GraphicsCommandList& list) {
      before(list);
      for (int i = 0; i < repeats; ++i) repeated(list);
    });
  };
}

RepeatedWork WorkOf(DeviceMeter& meter, Recorder repeated) {
  return WorkOf(
      meter, [](ID3D12GraphicsCommandList&) {}, std::move(repeated));
}

absl::StatusOr<std::vector<double>> MeasureRepeated(const std::vector<RepeatedWork>& works,
                                                    double seconds) {
  const double share = seconds / kRounds / static_cast<double>(works.size());
  std::vector<int> repeats;
  for (const RepeatedWork& work : works) {
    const absl::StatusOr<int> fitting = RepeatsWithin(work, share);
    if (!fitting.ok()) return fitting.status();
    repeats.push_back(*fitting);
  }
  std::vector<std::vector<double>> samples(works.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < works.size(); ++i) {
      const absl::StatusOr<double> sample = RoundOf(works[i], repeats[i]);
      if (!sample.ok()) return sample.status();
      samples[i].push_back(*sample);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& each : samples) medians.push_back(Median(std::move(each)));
  return medians;
}

}  // namespace opserve::bench
