// Section "pipelines": how long drivers compile kernels.

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "kernels/hlsl/blobs.h"
#include "tests/bench/d3d12/sections.h"
#include "tests/bench/statistics.h"

namespace opserve::bench {
namespace {

// About `count` kernels from all over the table, no two of the same code.
std::vector<const hlsl::Blob*> SomeKernels(size_t count) {
  std::vector<const hlsl::Blob*> distinct;
  std::set<const std::byte*> seen;
  for (const hlsl::Blob& blob : hlsl::AllBlobs()) {
    if (seen.insert(blob.packed.data()).second) distinct.push_back(&blob);
  }
  std::vector<const hlsl::Blob*> some;
  const size_t step = std::max<size_t>(1, distinct.size() / count);
  for (size_t i = 0; i < distinct.size(); i += step) some.push_back(distinct[i]);
  return some;
}

// Seconds that each pipeline takes on a device that has made none.
absl::StatusOr<std::vector<double>> CompileSeconds(const BenchContext& context,
                                                   const std::vector<const hlsl::Blob*>& kernels) {
  const absl::StatusOr<std::unique_ptr<DeviceMeter>> meter =
      DeviceMeter::Create(context.runtime(), context.adapter().index);
  if (!meter.ok()) return meter.status();
  std::vector<double> times;
  for (const hlsl::Blob* const kernel : kernels) {
    const std::vector<std::byte> code = hlsl::CodeOf(*kernel);
    const auto start = std::chrono::steady_clock::now();
    const auto pipeline = (*meter)->device().CreatePipeline(code);
    if (!pipeline.ok()) return pipeline.status();
    times.push_back(SecondsSince(start));
  }
  return times;
}

}  // namespace

absl::Status MeasurePipelines(BenchContext& context, SectionResult& result) {
  const std::vector<const hlsl::Blob*> kernels = SomeKernels(context.Sized(100, 40, 8));
  const auto first = CompileSeconds(context, kernels);
  if (!first.ok()) return first.status();
  const auto again = CompileSeconds(context, kernels);
  if (!again.ok()) return again.status();
  const auto add = [&](const char* name, double share) {
    result.rows.push_back({.name = name,
                           .unit = "ms",
                           .value = Percentile(*first, share) * 1e3,
                           .ceiling = Percentile(*again, share) * 1e3,
                           .against = "again"});
  };
  add("a kernel, p50", 0.5);
  add("a kernel, p90", 0.9);
  add("the slowest kernel", 1);
  result.notes.push_back(absl::StrCat(
      kernels.size(), " kernels of ", hlsl::AllBlobs().size(),
      ". \"Again\" is another device in the same process: less, where the driver keeps what it has "
      "compiled. Drivers that keep it in files may have it from an earlier run."));
  return absl::OkStatus();
}

}  // namespace opserve::bench
