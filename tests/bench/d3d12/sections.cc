#include "tests/bench/d3d12/sections.h"

#include <chrono>

#include "tests/bench/d3d12/device_meter.h"

namespace opserve::bench {

std::span<const BenchSection> AllSections() {
  static constexpr BenchSection kSections[] = {
      {"submissions", "What it takes to have the device do nothing, and one element.",
       &MeasureSubmissions},
      {"stages",
       "Where the time of one call goes, by the host's clock and by the device's own. The ratio is "
       "the share of the whole.",
       &MeasureStages},
      {"transfers", "Between the machine's memory and the device's: up, down, and both at once.",
       &MeasureTransfers},
      {"kernels", "Packed kernels on data of the device. GB/s count bytes read and written.",
       &MeasureKernels},
      {"batches", "Packed calls of 4 KiB: batches of 256 against one submission per call.",
       &MeasureBatches},
      {"in-flight", "Threads that each have a batch in flight, on one device.", &MeasureInFlight},
      {"calls", "Single packed calls from memory to memory through the device, transfers included.",
       &MeasureCalls},
      {"kept", "Single packed calls whose inputs the device keeps, against uploading them.",
       &MeasureKeptInputs},
      {"chains",
       "Chains of ROUND on an input that the device keeps, in one submission, whose result is read "
       "back, or stays on the device in a volatile tensor, against a call per step.",
       &MeasureChains},
      {"unread",
       "Chains of 8 calls in place whose last result is read back, against reading back each.",
       &MeasureUnreadResults},
      {"cold", "A new device and its first calls, against the same when it is warm.",
       &MeasureColdStart},
      {"pipelines", "Having the driver make a kernel's pipeline, the first time and again.",
       &MeasurePipelines},
      {"placed", "Many tensors of 4 KiB that the device keeps.", &MeasurePlacedTensors},
      {"oversubscription",
       "Inputs of 1 MiB that the device is to keep, used in turns, whose sum is a multiple of what "
       "it may take.",
       &MeasureOversubscription},
      {"placement", "Where requests run: left to the server (auto), or forced on a device.",
       &MeasurePlacement},
      {"dispatch", "The longest command of large calls: none should take more than 50 ms.",
       &MeasureLongestDispatch},
      {"loss", "A device that its driver calls lost, and what follows until all is well again.",
       &MeasureLoss},
  };
  return kSections;
}

SectionResult RunSection(const BenchSection& section, BenchContext& context) {
  SectionResult result{.name = section.name, .title = section.title};
  const auto start = std::chrono::steady_clock::now();
  result.status = section.measure(context, result);
  result.seconds = SecondsSince(start);
  return result;
}

}  // namespace opserve::bench
