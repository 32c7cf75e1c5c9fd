#include "server/pool/device_keeper.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "server/pool/calibration.h"
#include "server/pool/stoppable_device.h"
#include "server/pool/verify/self_test.h"

namespace opserve {
namespace {

// Whether a test that ended so speaks against the device. Out of memory is no fault: requests may
// hold all there is. Nor is it one that the test was given up.
bool MayBeFault(const absl::Status& status) {
  return !status.ok() && !absl::IsResourceExhausted(status) && !absl::IsCancelled(status);
}

}  // namespace

DeviceKeeper::DeviceKeeper(const Slots& slots, Router& router, const Clock& clock, Logger& logger,
                           uint64_t calibration_bytes, std::function<void()> on_idle)
    : slots_(slots),
      router_(router),
      clock_(clock),
      logger_(logger),
      calibration_bytes_(calibration_bytes),
      on_idle_(std::move(on_idle)) {}

Clock::TimePoint DeviceKeeper::Maintain() {
  Clock::TimePoint next = Clock::kNever;
  for (DeviceSlot* const slot : slots_.get()) {
    if (is_stopped_) return Clock::kNever;
    if (slot->next_attempt() <= clock_.Now()) BringUp(*slot);
    next = std::min(next, slot->next_attempt());
  }
  return next;
}

void DeviceKeeper::BringUp(DeviceSlot& slot) {
  const Clock::TimePoint start = clock_.Now();
  try {
    absl::StatusOr<std::unique_ptr<ComputeDevice>> device = slot.Create();
    if (device.ok()) {
      TestAndInstall(slot, *std::move(device), start);
    } else {
      slot.OnCreateFailed(device.status());
    }
  } catch (const std::exception& error) {
    slot.OnCreateFailed(absl::ResourceExhaustedError(error.what()));
  }
}

void DeviceKeeper::TestAndInstall(DeviceSlot& slot, std::unique_ptr<ComputeDevice> device,
                                  Clock::TimePoint start) {
  StoppableDevice tested(*device, &is_stopped_);
  const SelfTestOutcome outcome = TestLanes(tested, slot.LanesToTest(tested));
  absl::Status status = outcome.status;
  const bool is_wrong = absl::IsDataLoss(status);
  if (status.ok()) status = CalibrateSlot(slot, tested);
  if (is_stopped_) return;
  if (is_wrong) {
    slot.OnNewDeviceWrong(*outcome.failed, absl::StrCat("self-test: ", status.message()));
  } else if (!status.ok()) {
    slot.OnCreateFailed(status);
  } else {
    slot.Install(std::move(device), outcome.passed);
    router_.PlaceHeldAnew();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - start);
    logger_.Log(LogLevel::kInfo, "GPU joined",
                {{"device", slot.profile().name}, {"took_ms", took.count()}});
  }
}

// `auto` never picks software GPUs, so that neither they nor the processor need be measured for
// them.
absl::Status DeviceKeeper::CalibrateSlot(DeviceSlot& slot, ComputeDevice& device) {
  slot.costs().Clear();
  if (slot.profile().is_software) return absl::OkStatus();
  DeviceSlot& processor = router_.processor();
  if (!is_processor_calibrated_) {
    const std::shared_ptr<ComputeDevice> serving = processor.serving();
    StoppableDevice measured(*serving, &is_stopped_);
    absl::Status status = Calibrate(measured, clock_, calibration_bytes_, processor.costs());
    if (!status.ok()) return status;
    is_processor_calibrated_ = true;
  }
  return Calibrate(device, clock_, calibration_bytes_, slot.costs());
}

absl::StatusOr<std::vector<SelfTestResult>> DeviceKeeper::SelfTest(absl::string_view device,
                                                                   const std::atomic<bool>* stop) {
  std::vector<DeviceSlot*> chosen;
  for (DeviceSlot* const slot : slots_.get()) {
    if (slot->is_gpu() && (device.empty() || slot->profile().name == device)) {
      chosen.push_back(slot);
    }
  }
  if (chosen.empty() && !device.empty()) {
    return absl::NotFoundError(absl::StrCat("There is no GPU called \"", device, "\"."));
  }
  if (is_testing_.exchange(true)) {
    return absl::ResourceExhaustedError("Another self-test is running.");
  }
  const absl::Cleanup done = [this] { is_testing_ = false; };
  std::vector<SelfTestResult> results;
  for (DeviceSlot* slot : chosen) {
    results.push_back(TestServing(*slot, stop));
    if (absl::IsCancelled(results.back().status)) return results.back().status;
  }
  return results;
}

SelfTestResult DeviceKeeper::TestServing(DeviceSlot& slot, const std::atomic<bool>* stop) {
  if (!slot.queue().BeginVisit()) {
    return {.device = slot.profile().name,
            .status = absl::UnavailableError("The device is leased.")};
  }
  const absl::Cleanup end = [this, &slot] {
    if (slot.queue().EndVisit()) on_idle_();
  };
  return TestNow(slot, stop);
}

SelfTestResult DeviceKeeper::TestNow(DeviceSlot& slot, const std::atomic<bool>* stop) {
  SelfTestResult result;
  result.device = slot.profile().name;
  const std::shared_ptr<ComputeDevice> device = slot.serving();
  if (device == nullptr) {
    result.status = absl::UnavailableError(
        absl::StrCat("The device is ", NameOf(slot.state()), ": ", slot.state_reason()));
    return result;
  }
  const Clock::TimePoint start = clock_.Now();
  StoppableDevice tested(*device, stop);
  SelfTestOutcome outcome = TestDevice(tested);
  result.took = clock_.Now() - start;
  result.cases = outcome.cases;
  result.status = std::move(outcome.status);
  slot.OnTested(*device, outcome.passed);
  for (const KernelLane& lane : outcome.refused) slot.OnRefused(*device, lane);
  bool is_down = false;
  if (absl::IsDataLoss(result.status)) {
    is_down = slot.OnSelfTestFailed(*device, *outcome.failed,
                                    absl::StrCat("self-test: ", result.status.message()));
  } else if (MayBeFault(result.status)) {
    is_down = slot.OnFailure(*device, result.status);
  }
  if (is_down) router_.Evacuate(slot);
  return result;
}

}  // namespace opserve
